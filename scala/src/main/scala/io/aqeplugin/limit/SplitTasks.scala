package io.aqeplugin.limit

import org.apache.spark.Partition
import org.apache.spark.rdd.{PartitionCoalescer, PartitionGroup, RDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.FilePartition

/** Splits of an RDD, packed into tasks: a small split is read sooner than a task is launched.
  *
  * @param rdd
  *   the packed RDD, or the given one when each split has a task of its own
  * @param partitions
  *   the partitions of `rdd` to run
  * @param splits
  *   the number of splits of each of these
  */
private[limit] final case class SplitTasks(rdd: RDD[InternalRow], partitions: IndexedSeq[Int], splits: IndexedSeq[Int])

private[limit] object SplitTasks {

  /** @param slots
    *   tasks that can run at once
    */
  def of(rdd: RDD[InternalRow], splits: IndexedSeq[Int], slots: Int): SplitTasks = {
    val packed = TaskSplits.packed(splits, splits.map(split => bytesOf(rdd.partitions(split))), slots)
    if (packed.size == splits.size) SplitTasks(rdd, splits, splits.map(_ => 1))
    else SplitTasks(rdd.coalesce(packed.size, shuffle = false, Some(new Packed(packed))), packed.indices, packed.map(_.size))
  }

  private def bytesOf(split: Partition): Option[Long] = split match {
    case files: FilePartition => Some(files.files.map(_.length).sum)
    case _                    => None
  }

  private final class Packed(tasks: IndexedSeq[IndexedSeq[Int]]) extends PartitionCoalescer with Serializable {
    override def coalesce(most: Int, parent: RDD[_]): Array[PartitionGroup] = tasks.map { splits =>
      val partitions = splits.map(parent.partitions(_))
      val group = new PartitionGroup(parent.preferredLocations(partitions.head).headOption)
      group.partitions ++= partitions
      group
    }.toArray
  }
}
