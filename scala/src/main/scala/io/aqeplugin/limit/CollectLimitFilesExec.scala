package io.aqeplugin.limit

import java.util.concurrent.atomic.AtomicLong

import scala.util.control.NonFatal

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, SinglePartition}
import org.apache.spark.sql.execution.{CollectLimitExec, LimitExec, SQLExecution, SparkPlan}
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** Collects the first rows of a scan on the driver, in the place of Spark's `CollectLimitExec`, in one wave of splits or several.
  *
  * @param limit
  *   rows that are taken from `child`, those that the offset skips included
  * @param pace
  *   how many splits run at once
  * @param ranks
  *   the paths of the files, those to read first at the front; empty for Spark's own order
  * @param why
  *   the decision, for EXPLAIN
  * @param slots
  *   tasks that can run at once
  * @param splitsStarted
  *   counts the splits of all copies of this node
  * @param widened
  *   makes of `child` what Spark would read
  */
case class CollectLimitFilesExec(limit: Int, offset: Int, child: SparkPlan, pace: WavePace, ranks: Seq[String], why: String)(
    slots: Int,
    splitsStarted: AtomicLong,
    widened: SparkPlan => SparkPlan
) extends LimitExec {

  override protected def otherCopyArgs: Seq[AnyRef] = Seq(Int.box(slots), splitsStarted, widened)

  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = SinglePartition
  override protected def stringArgs: Iterator[Any] = Iterator(s"limit=$limit", s"offset=$offset", why)

  @transient private lazy val own = CollectLimitExec(limit, child, offset)

  override lazy val metrics: Map[String, SQLMetric] = own.metrics ++ Map(
    "numSplits" -> SQLMetrics.createMetric(sparkContext, "splits started"),
    "numSplitsFinished" -> SQLMetrics.createMetric(sparkContext, "splits finished"),
    "numJobs" -> SQLMetrics.createMetric(sparkContext, "jobs"),
    "numFailures" -> SQLMetrics.createMetric(sparkContext, "failures after which Spark's own way was taken")
  )

  /** Spark may have enough rows before it reads a split that fails: a damaged file, or one with another type. So a failure is left to Spark's
    * own way, which fails where it fails without the plugin.
    */
  override def executeCollect(): Array[InternalRow] =
    try collected()
    catch {
      case NonFatal(error) if !SparkBridge.isCancellation(error) =>
        logInfo("aqe-plugin: a split of a limit failed; the limit is collected again in Spark's own way", error)
        post(Seq("numFailures" -> 1))
        try CollectLimitExec(limit, widened(child), offset).executeCollect()
        catch {
          case NonFatal(again) if again ne error =>
            again.addSuppressed(error)
            throw again
        }
    }

  private def collected(): Array[InternalRow] = {
    val rdd = child.execute()
    val waves = new LimitWaves(rdd, order(rdd), limit, pace, slots)
    try waves.run().iterator.flatMap(EncodedRows.decode(_, output.size)).slice(offset, limit).toArray
    finally count(waves)
  }

  override def executeTake(n: Int): Array[InternalRow] = if (n <= 0) Array.empty else executeCollect().take(n)

  /** An RDD has no driver that stops it, so this is Spark's way. */
  override protected def doExecute(): RDD[InternalRow] = own.execute()

  /** The splits, each by its file to be read first. */
  private def order(rdd: RDD[InternalRow]): IndexedSeq[Int] = {
    val splits = rdd.partitions.toIndexedSeq
    if (ranks.isEmpty) splits.map(_.index)
    else {
      val rank = ranks.zipWithIndex.toMap
      splits.sortBy {
        case files: FilePartition =>
          files.files.map(file => rank.getOrElse(file.toPath.toString, ranks.size)).minOption.getOrElse(ranks.size)
        case _ => ranks.size
      }.map(_.index)
    }
  }

  private def count(waves: LimitWaves): Unit = {
    val _ = splitsStarted.addAndGet(waves.splitsStarted.toLong)
    post(Seq("numSplits" -> waves.splitsStarted, "numSplitsFinished" -> waves.splitsFinished, "numJobs" -> waves.jobsStarted))
  }

  private def post(counted: Seq[(String, Int)]): Unit = {
    counted.foreach { case (name, value) => metrics(name).add(value.toLong) }
    val executionId = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(sparkContext, executionId, counted.map { case (name, _) => metrics(name) })
  }

  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)(slots, splitsStarted, widened)
}
