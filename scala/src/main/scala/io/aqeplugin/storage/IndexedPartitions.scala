package io.aqeplugin.storage

import java.util.concurrent.atomic.AtomicReference

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.datasources.{InMemoryFileIndex, PartitionSpec}

import io.aqeplugin.exec.DataFiles

/** The partitions of an index that fulfil conditions on their values, found as `listFiles` finds them, but without a look at their files: that
  * look is most of the time of a listing.
  */
private[storage] object IndexedPartitions {

  /** The sizes of the partitions of one listing, and the sums for the most recent conditions: the values of 100,000 partitions lie all over the
    * heap, and one condition on them takes ten milliseconds.
    *
    * @param counts
    *   of the files of each partition, in the order of the partitions
    * @param bytes
    *   of these files
    */
  private final class Listing(val counts: Array[Int], val bytes: Array[Long]) {
    private val sums = new AtomicReference(Vector.empty[(Expression, DataFiles)])

    def sumOf(condition: Expression)(add: => Option[DataFiles]): Option[DataFiles] = sums.get.collectFirst { case (`condition`, sum) =>
      sum
    }.orElse {
      val added = add
      if (isSmall(condition)) added.foreach(sum => sums.updateAndGet(all => ((condition, sum) +: all).take(SumsKept)))
      added
    }
  }

  private val SumsKept = 16
  private val LongestListKept = 1000

  /** Long lists take memory, and a function of the user's may hold anything, the index included. */
  private def isSmall(condition: Expression): Boolean = !condition.exists {
    case _: UserDefinedExpression => true
    case InSet(_, values)         => values.size > LongestListKept
    case In(_, values)            => values.size > LongestListKept
    case _                        => false
  }

  private val listings =
    new PerListing({ index =>
      val files = index.listFiles(Nil, Nil).map(_.files)
      new Listing(files.iterator.map(_.size).toArray, files.iterator.map(_.iterator.map(_.getLen).sum).toArray)
    })

  /** The files of these partitions; all files of an index without partitions.
    *
    * @throws java.lang.Exception
    *   whatever a condition throws for a partition's values
    */
  def files(index: InMemoryFileIndex, conditions: Seq[Expression]): DataFiles = {
    val spec = index.partitionSpec()
    val listing = listings.of(index)
    val condition = bound(spec, conditions)
    // None without partitions, or when another query refreshed the index in between.
    listing.sumOf(condition)(if (index.partitionSpec() eq spec) sum(spec, listing, condition) else None).getOrElse {
      val found = index.listFiles(conditions, Nil).flatMap(_.files)
      DataFiles(found.size.toLong, found.iterator.map(_.getLen).sum)
    }
  }

  /** None if the files are not those of the partitions. */
  private def sum(spec: PartitionSpec, listing: Listing, condition: Expression): Option[DataFiles] = {
    val selects = Predicate.createInterpreted(condition)
    val partitions = spec.partitions.iterator
    var count = 0L
    var bytes = 0L
    var at = 0
    while (partitions.hasNext && at < listing.bytes.length) {
      if (selects.eval(partitions.next().values)) {
        count += listing.counts(at)
        bytes += listing.bytes(at)
      }
      at += 1
    }
    Option.when(!partitions.hasNext && at == listing.bytes.length)(DataFiles(count, bytes))
  }

  /** The values of these partitions; none of an index without partitions.
    *
    * @throws java.lang.Exception
    *   whatever a condition throws for a partition's values
    */
  def values(index: InMemoryFileIndex, conditions: Seq[Expression]): Seq[InternalRow] = {
    val spec = index.partitionSpec()
    val selects = Predicate.createInterpreted(bound(spec, conditions))
    spec.partitions.iterator.map(_.values).filter(selects.eval).toSeq
  }

  /** One condition on the values of a partition, the same for every query. A condition on another column selects all, as in Spark's index. */
  private def bound(spec: PartitionSpec, conditions: Seq[Expression]): Expression = {
    val columns = spec.partitionColumns
    val own = conditions.filter(_.references.forall(column => columns.exists(_.name == column.name)))
    own.reduceOption(And(_, _)).getOrElse(Literal.TrueLiteral).transform { case column: Attribute =>
      val at = columns.fieldIndex(column.name)
      BoundReference(at, columns(at).dataType, nullable = true)
    }
  }
}
