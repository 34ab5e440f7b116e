package io.aqeplugin.limit

import java.util.concurrent.atomic.AtomicLong

import scala.annotation.tailrec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, BindReferences, Expression, NamedExpression, SortOrder, UnsafeProjection}
import org.apache.spark.sql.catalyst.expressions.codegen.LazilyGeneratedOrdering
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, SinglePartition}
import org.apache.spark.sql.execution.{FileSourceScanExec, SQLExecution, SparkPlan, TakeOrderedAndProjectExec, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** The scan whose files are read in waves. */
trait TopScan {

  /** `scan` with some of its files; none when it is not the scan that was planned.
    *
    * @param bound
    *   rows behind it may be left out; none while it is unknown
    */
  def narrowed(scan: FileSourceScanExec, files: Seq[TopFile], bound: Option[TopOrder.Rank]): Option[FileSourceScanExec]

  /** The rank of a value of the first sort key; none is a null. */
  def rank(value: Option[Any]): TopOrder.Rank
}

/** Collects the first rows of a sorted scan on the driver, in the place of Spark's `TakeOrderedAndProjectExec`: the files whose rows may come
  * first are read first, and the n-th row found so far decides which files and row groups are still read.
  *
  * @param limit
  *   rows that are taken from `child`, those that the offset skips included
  * @param child
  *   reads all files of `waves`
  * @param why
  *   the decision, for EXPLAIN
  * @param splitsStarted
  *   counts the splits of all copies of this node
  */
case class TakeOrderedFilesExec(
    limit: Int,
    offset: Int,
    sortOrder: Seq[SortOrder],
    projectList: Seq[NamedExpression],
    child: SparkPlan,
    why: String
)(waves: TopWaves, scan: TopScan, splitsStarted: AtomicLong)
    extends UnaryExecNode {

  override protected def otherCopyArgs: Seq[AnyRef] = Seq(waves, scan, splitsStarted)

  override def output: Seq[Attribute] = projectList.map(_.toAttribute)
  override def outputPartitioning: Partitioning = SinglePartition
  override def outputOrdering: Seq[SortOrder] = own.outputOrdering
  override protected def stringArgs: Iterator[Any] = Iterator(s"limit=$limit", s"offset=$offset", sortOrder, projectList, why)

  @transient private lazy val own = TakeOrderedAndProjectExec(limit, sortOrder, projectList, child, offset)

  override lazy val metrics: Map[String, SQLMetric] = own.metrics ++ Map(
    "numSplits" -> SQLMetrics.createMetric(sparkContext, "splits started"),
    "numJobs" -> SQLMetrics.createMetric(sparkContext, "jobs")
  )

  /** An RDD has no driver that stops it, so this is Spark's way. */
  override protected def doExecute(): RDD[InternalRow] = own.execute()

  override def executeCollect(): Array[InternalRow] = executeQuery {
    if (narrowed(waves.files, None).isEmpty) own.executeCollect()
    else {
      val rows =
        try firstRows(waves, 0, Array.empty).drop(offset)
        finally report()
      val project = UnsafeProjection.create(projectList, child.output)
      // As Spark's own operator does: `rand` and its like fail without.
      project.initialize(0)
      rows.map(row => project(row).copy())
    }
  }

  override def executeTake(n: Int): Array[InternalRow] = if (n <= 0) Array.empty else executeCollect().take(n)

  private lazy val ordering = new LazilyGeneratedOrdering(sortOrder, child.output)
  private lazy val key: Expression = BindReferences.bindReference(sortOrder.head.child, child.output)

  @tailrec private def firstRows(left: TopWaves, filesRead: Int, rows: Array[InternalRow]): Array[InternalRow] =
    if (left.files.isEmpty) rows
    else {
      val next = left.next(filesRead)
      val found = TopRows.first((rows ++ read(next, bound(rows))).iterator, limit, ordering)
      firstRows(left.after(next, bound(found)), filesRead + next.size, found)
    }

  /** The rank of the last of `limit` rows; none while there are fewer rows. */
  private def bound(rows: Array[InternalRow]): Option[TopOrder.Rank] =
    Option.when(rows.length >= limit)(scan.rank(Option(key.eval(rows.last))))

  /** The first rows of each task that reads some of these files. */
  private def read(files: IndexedSeq[TopFile], bound: Option[TopOrder.Rank]): Array[InternalRow] = {
    val plan = narrowed(files, bound).getOrElse(throw new IllegalStateException("the scan has changed"))
    val rdd = plan.execute()
    val (rows, order) = (limit, ordering) // not the whole node goes to the executors
    val tasks = SplitTasks.of(rdd, rdd.partitions.indices, waves.slots)
    val encoded = sparkContext.runJob[InternalRow, Array[Byte]](
      tasks.rdd,
      (found: Iterator[InternalRow]) => EncodedRows.encode(TopRows.first(found, rows, order).iterator, rows),
      tasks.partitions
    )
    count(plan, tasks.splits.sum)
    encoded.flatMap(EncodedRows.decode(_, child.output.size))
  }

  /** The child with a part of its files; none when its scan is not the one that was planned. */
  private def narrowed(files: Seq[TopFile], bound: Option[TopOrder.Rank]): Option[SparkPlan] = {
    val scans = child.collect { case found: FileSourceScanExec => found }
    scans.flatMap(found => scan.narrowed(found, files, bound).map(found -> _)) match {
      case Seq((found, narrow)) => Some(child.transform { case node if node eq found => narrow })
      case _                    => None
    }
  }

  /** Adds what a copy of the child has counted to the child's own metrics, which the UI shows. */
  private def count(ran: SparkPlan, splits: Int): Unit = {
    val _ = splitsStarted.addAndGet(splits.toLong)
    metrics("numSplits").add(splits.toLong)
    metrics("numJobs").add(1L)
    child.collect { case node => node }.zip(ran.collect { case node => node }).foreach { case (own, copy) =>
      own.metrics.foreach { case (name, metric) =>
        copy.metrics.get(name).filter(_.value > 0).foreach(counted => metric.add(counted.value))
      }
    }
  }

  /** Once, because the UI adds up what it gets. */
  private def report(): Unit = {
    val counted = Seq(metrics("numSplits"), metrics("numJobs")) ++ child.collect { case node => node }.flatMap(_.metrics.values)
    val executionId = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(sparkContext, executionId, counted.filter(_.value > 0))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)(waves, scan, splitsStarted)
}
