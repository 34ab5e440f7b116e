package io.aqeplugin.storage

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{And, Attribute, BasePredicate, BoundReference, Expression, Literal, Predicate}
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
    // None without partitions, or when another query refreshed the index in between.
    sum(spec, fileBytes.of(index), conditions).getOrElse(index.listFiles(conditions, Nil).iterator.flatMap(_.files).map(_.getLen).sum)
  }

  /** None if the bytes are not those of the partitions. A loop: over 100,000 partitions, iterators of pairs took ten milliseconds. */
  private def sum(spec: PartitionSpec, bytes: Array[Long], conditions: Seq[Expression]): Option[Long] = {
    val selects = predicate(spec, conditions)
    val partitions = spec.partitions.iterator
    var sum = 0L
    var at = 0
    while (partitions.hasNext && at < bytes.length) {
      if (selects.eval(partitions.next().values)) sum += bytes(at)
      at += 1
    }
    Option.when(!partitions.hasNext && at == bytes.length)(sum)
  }

  /** The values of these partitions; none of an index without partitions.
    *
    * @throws java.lang.Exception
    *   whatever a condition throws for a partition's values
    */
  def values(index: InMemoryFileIndex, conditions: Seq[Expression]): Seq[InternalRow] = {
    val spec = index.partitionSpec()
    val selects = predicate(spec, conditions)
    spec.partitions.iterator.map(_.values).filter(selects.eval).toSeq
  }

  /** A condition on another column selects all, as in Spark's index. */
  private def predicate(spec: PartitionSpec, conditions: Seq[Expression]): BasePredicate = {
    val columns = spec.partitionColumns
    val own = conditions.filter(_.references.forall(column => columns.exists(_.name == column.name)))
    Predicate.createInterpreted(own.reduceOption(And(_, _)).getOrElse(Literal.TrueLiteral).transform { case column: Attribute =>
      val at = columns.fieldIndex(column.name)
      BoundReference(at, columns(at).dataType, nullable = true)
    })
  }
}
