package io.aqeplugin.exec

import org.apache.spark.HashPartitioner
import org.apache.spark.rdd.RDD

import io.aqeplugin.filters.{FilterLadder, FilterLimits, JavaBytes, PartialFilter}

/** Merges the parts of a filter that the tasks of a job built: on executors, until they are few enough for the driver.
  *
  * Parts travel as bytes, so that no class of the plugin goes through `spark.serializer`. Each part is decoded once.
  */
private[exec] object MergeTree {

  /** Number of parts that are merged in one place. An executor holds two at a time: the merged one and the next. */
  val FanIn = 16

  /** Number of parts that the driver accepts, where all are in memory at once: as many as fit the size limit of one filter, at least
    * one.
    */
  def driverParts(limits: FilterLimits): Int = (limits.capBytes / FilterLadder.partBytes(limits)).max(1L).min(FanIn.toLong).toInt

  /** Runs the job.
    *
    * @param parts
    *   one part per partition, at least one partition
    * @param driverParts
    *   maximum number of parts that go to the driver, at least one
    */
  def merged(parts: RDD[Array[Byte]], driverParts: Int): PartialFilter = {
    val few = narrowed(parts, driverParts)
    // Merged in the calling thread: a reduce would merge in the thread that schedules all jobs.
    merge(few.sparkContext.runJob(few, (part: Iterator[Array[Byte]]) => part.next()).iterator)
  }

  private def narrowed(parts: RDD[Array[Byte]], most: Int): RDD[Array[Byte]] = {
    val count = parts.getNumPartitions
    if (count <= most) {
      parts
    } else {
      val groups = (count + FanIn - 1) / FanIn
      val grouped = parts.mapPartitionsWithIndex((i, part) => part.map(i % groups -> _)).partitionBy(new HashPartitioner(groups))
      narrowed(grouped.mapPartitions(group => Iterator.single(written(merge(group.map(_._2))))), most)
    }
  }

  /** A part in the form in which it travels. */
  def written(part: PartialFilter): Array[Byte] = JavaBytes.write(part, part.sizeBytes)

  private def merge(parts: Iterator[Array[Byte]]): PartialFilter = {
    val decoded = parts.map(JavaBytes.read[PartialFilter])
    PartialFilter.mergeAll(decoded.next(), decoded)
  }
}
