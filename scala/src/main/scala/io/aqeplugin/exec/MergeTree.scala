package io.aqeplugin.exec

import org.apache.spark.{HashPartitioner, SparkContext}
import org.apache.spark.rdd.RDD

import io.aqeplugin.filters.{PartialFilter, PartialFormat}

/** Merges the parts of a filter that the tasks of a job built: on executors, until so few are left that the driver takes them.
  *
  * Parts travel in their stored form, so that no class of the plugin goes through `spark.serializer`, and each is decoded once on the way.
  */
private[exec] object MergeTree {

  /** At most so many parts are merged in one place, which bounds what the driver holds: each may be as large as a filter. */
  val FanIn = 16

  /** Runs the job.
    *
    * @param parts
    *   one part a partition, at least one partition
    * @param partBytes
    *   what a part may come to
    */
  def merged(parts: RDD[Array[Byte]], partBytes: Long): PartialFilter = {
    val few = narrowed(parts, fitting(parts.sparkContext, partBytes))
    // Merged in the thread that asked: a reduce would do it in the one that schedules all jobs.
    merge(few.sparkContext.runJob(few, (part: Iterator[Array[Byte]]) => part.next()).iterator)
  }

  /** How many parts the driver takes at once: together they are a job's result, and Spark fails a job whose result is too large. */
  private def fitting(sparkContext: SparkContext, partBytes: Long): Int = {
    val resultBytes = sparkContext.getConf.getSizeAsBytes("spark.driver.maxResultSize", "1g")
    if (resultBytes == 0) FanIn else (resultBytes / math.max(1L, partBytes)).max(1L).min(FanIn.toLong).toInt
  }

  private def narrowed(parts: RDD[Array[Byte]], most: Int): RDD[Array[Byte]] = {
    val count = parts.getNumPartitions
    if (count <= most) {
      parts
    } else {
      val groups = (count + FanIn - 1) / FanIn
      val grouped = parts.mapPartitionsWithIndex((i, part) => part.map(i % groups -> _)).partitionBy(new HashPartitioner(groups))
      narrowed(grouped.mapPartitions(group => Iterator.single(PartialFormat.write(merge(group.map(_._2))))), most)
    }
  }

  private def merge(parts: Iterator[Array[Byte]]): PartialFilter = {
    val decoded = parts.map(bytes => PartialFormat.read(bytes).fold(e => throw new IllegalArgumentException(e.text), identity))
    PartialFilter.mergeAll(decoded.next(), decoded)
  }
}
