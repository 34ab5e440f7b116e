package io.aqeplugin.storage

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{And, Attribute, BoundReference, Expression, Predicate}
import org.apache.spark.sql.execution.datasources.{InMemoryFileIndex, PartitionSpec}

/** The partitions of an index that fulfil conditions on their values, found as `listFiles` finds them, but without a look at their files: that
  * look is most of the time of a listing.
  */
private[storage] object IndexedPartitions {

  /** In the order of the partitions. */
  private val fileBytes = new PerListing(index => index.listFiles(Nil, Nil).iterator.map(_.files.iterator.map(_.getLen).sum).toArray)

  /** The bytes of the files of these partitions; of all files of an index without partitions.
    *
    * @throws java.lang.Exception
    *   whatever a condition throws for a partition's values
    */
  def bytes(index: InMemoryFileIndex, conditions: Seq[Expression]): Long = {
    val spec = index.partitionSpec()
    val bytes = fileBytes.of(index)
    // Without partitions, or refreshed by another query in between.
    if (spec.partitions.isEmpty || bytes.length != spec.partitions.size) index.listFiles(conditions, Nil).flatMap(_.files).map(_.getLen).sum
    else {
      val isSelected = test(spec, conditions)
      spec.partitions.iterator.zip(bytes.iterator).collect { case (partition, some) if isSelected(partition.values) => some }.sum
    }
  }

  /** The values of these partitions; none of an index without partitions.
    *
    * @throws java.lang.Exception
    *   whatever a condition throws for a partition's values
    */
  def values(index: InMemoryFileIndex, conditions: Seq[Expression]): Seq[InternalRow] = {
    val spec = index.partitionSpec()
    spec.partitions.map(_.values).filter(test(spec, conditions))
  }

  /** A condition on another column selects all, as in Spark's index. */
  private def test(spec: PartitionSpec, conditions: Seq[Expression]): InternalRow => Boolean = {
    val columns = spec.partitionColumns
    val own = conditions.filter(_.references.forall(column => columns.exists(_.name == column.name)))
    own.reduceOption(And(_, _)).fold((_: InternalRow) => true) { all =>
      Predicate.createInterpreted(all.transform { case column: Attribute =>
        val at = columns.fieldIndex(column.name)
        BoundReference(at, columns(at).dataType, nullable = true)
      }).eval
    }
  }
}
