package io.aqeplugin.exec

import org.apache.spark.TaskContext
import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SQLExecution, SortExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.execution.joins.ShuffledJoin
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.aqeplugin.decide.Reason
import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.observe.{FilterOutcome, QueryState, QueryStates, StartedFilters}

/** Drops the rows of a scan that have no partner in the joins above it.
  *
  * It is directly above the scan, so a columnar scan drops rows before they are converted. The filters come from the other children: each
  * is, or will become, the broadcast stage of a [[RuntimeFilterExchangeExec]]. Because these are children, AQE waits for them before it
  * starts the stage of this node.
  *
  * The node must not have its own logical link, because AQE would take it for the scan's logical node. It uses the link of the scan below.
  *
  * @param child
  *   the scan
  * @param keys
  *   for each source, its keys over the scan's columns, in the order of the filter's keys
  * @param sources
  *   one filter exchange (or its stage) per filter
  * @param labels
  *   for each source, its name in decisions and metrics
  * @param pauses
  *   for each source, when a task pauses its filter; in a union, that of the first source counts
  * @param clock
  *   while a source waits for its build side: the clock, or its stage, by which the wait is checked
  * @param unions
  *   how many sources, in their order, are one filter: a row passes if it passes one of them, and all of them check the same columns. If one
  *   of them cannot be had, every row passes the union. None if each source is a filter of its own
  */
case class RuntimeFilterExec(
    child: SparkPlan,
    keys: Seq[Seq[Expression]],
    sources: Seq[SparkPlan],
    labels: Seq[FilterLabel],
    pauses: Seq[SelfDisable],
    clock: Option[SparkPlan] = None,
    unions: Seq[Int] = Nil
) extends SparkPlan
    with StartedFilters {

  /** The sources of each filter, by number. */
  private def units: Seq[Range] = {
    val sizes = if (unions.isEmpty) sources.map(_ => 1) else unions
    sizes.scanLeft(0)(_ + _).zip(sizes).map { case (start, size) => start until start + size }
  }

  override def children: Seq[SparkPlan] = (child +: sources) ++ clock
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override def supportsColumnar: Boolean = child.supportsColumnar
  override def supportsRowBased: Boolean = child.supportsRowBased

  // Wrapped vectors are of another class than the scan's.
  override def vectorTypes: Option[Seq[String]] = CompactedVectors.classesOf(child)

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numInputRows" -> SQLMetrics.createMetric(sparkContext, "rows before runtime filters"),
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "rows after runtime filters"),
    "waitTime" -> SQLMetrics.createTimingMetric(sparkContext, "time from the query's start until the filters were ready"),
    "numFaults" -> SQLMetrics.createMetric(sparkContext, "faults of runtime filters")
  ) ++ labels.indices.flatMap { i =>
    val name = if (labels.size == 1) "" else s" of filter ${i + 1}"
    Seq(
      s"filter${i}RowsIn" -> SQLMetrics.createMetric(sparkContext, s"rows checked$name"),
      s"filter${i}RowsOut" -> SQLMetrics.createMetric(sparkContext, s"rows passed$name"),
      s"filter${i}RowsUnchecked" -> SQLMetrics.createMetric(sparkContext, s"rows not checked$name")
    )
  }

  // Set on the driver when the node runs; stays empty on a scan that never starts. Volatile: a listener's thread handles the end of the
  // query.
  @transient @volatile private var lastRun: Option[RuntimeFilterExec.Run] = None

  override def joinIdsByFilter: Seq[Seq[String]] = units.map(_.map(labels(_).joinId))
  override def outcomes: Seq[FilterOutcome] = lastRun.toSeq.flatMap(run => labels.indices.map(outcome(run, _)))
  override def rows: (Long, Long) = (counted("numInputRows"), counted("numOutputRows"))
  override def faults: Long = counted("numFaults")

  private def counted(metric: String): Long = metrics(metric).value.max(0L)

  private def outcome(run: RuntimeFilterExec.Run, i: Int): FilterOutcome = {
    val label = labels(i)
    val unit = units.find(_.contains(i)).getOrElse(i to i)
    // The rows of a union are counted once, for its first filter.
    val alone = label.outcome(run.filters(i).toOption, run.waitMillis).copy(
      rowsIn = counted(s"filter${i}RowsIn"),
      rowsOut = counted(s"filter${i}RowsOut"),
      rowsUnchecked = counted(s"filter${i}RowsUnchecked"),
      anyOf = if (unit.size > 1) labels(unit.head).filterId else ""
    )
    // Without one of the others, every row passes this one too.
    val others = if (alone.passesAll) None else unit.map(run.filters).collectFirst { case Right(Left(reason)) => reason }
    others.fold(alone)(why => alone.copy(kind = FilterOutcome.PassAll, reason = Some(why)))
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val probes = activeProbes()
    if (probes.isEmpty) {
      child.execute()
    } else {
      val counters = nodeCounters
      child.execute().mapPartitions(
        { rows =>
          val filtered = new FilteredRows(rows, probes.flatMap(_.open()).toArray, counters)
          Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => filtered.close()))
          filtered
        },
        preservesPartitioning = true
      )
    }
  }

  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = {
    val probes = activeProbes()
    if (probes.isEmpty) {
      child.executeColumnar()
    } else {
      val counters = nodeCounters
      val compacts = vectorTypes.isDefined
      child.executeColumnar().mapPartitions(
        batches => new FilteredBatches(batches, probes.flatMap(_.open()).toArray, counters, compacts),
        preservesPartitioning = true
      )
    }
  }

  private def nodeCounters = NodeCounters(longMetric("numInputRows"), longMetric("numOutputRows"))

  private def activeProbes(): Seq[ProbeFactory] = {
    val found = sources.map(FilterSource.await)
    val query = QueryStates.current(sparkContext)
    val waitMillis = lastRun.map(_.waitMillis).orElse(query.map(q => (System.nanoTime() - q.startNanos) / 1000000L)).getOrElse(0L)
    if (lastRun.isEmpty) {
      found.collect { case Left(FilterSource.Missing(fault)) => noteFault(query, fault) }
      query.foreach(_.rememberStarted(this))
      longMetric("waitTime").set(waitMillis)
      SQLMetrics
        .postDriverMetricUpdates(sparkContext, sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY), Seq(longMetric("waitTime")))
    }
    lastRun = Some(RuntimeFilterExec.Run(found.map(_.map(_.result)), waitMillis))
    units.flatMap { unit =>
      val built = unit.map(found).collect { case Right(FilterSource.Found(broadcast, Right(_))) => broadcast }
      // A union without one of its filters would drop the rows that only this one passes.
      if (built.size == unit.size) factory(unit.head, built, query) else None
    }
  }

  private def factory(i: Int, broadcasts: Seq[Broadcast[Array[Byte]]], query: Option[QueryState]): Option[ProbeFactory] =
    try {
      val coder = KeyCoder(keys(i), child.output)
      def metric(name: String): SQLMetric = longMetric(s"filter$i$name")
      Some(
        ProbeFactory(
          broadcasts,
          coder,
          pauses(i),
          FilterCounters(metric("RowsIn"), metric("RowsOut"), metric("RowsUnchecked"), longMetric("numFaults"))
        )
      )
    } catch {
      case Survivable(error) =>
        noteFault(query, error)
        None
    }

  private def noteFault(query: Option[QueryState], fault: Throwable): Unit = {
    query.foreach(_.errors.increment())
    Faults.note("filter probe", "a scan continues without the filter", fault)
  }

  override protected def doCanonicalize(): SparkPlan = super.doCanonicalize() match {
    case canonical: RuntimeFilterExec => canonical.copy(labels = Nil, clock = None)
    case other                        => other
  }

  // AQE finds a finished stage's logical node through the first physical node that is linked to it, from the top and from the left. A
  // source is the build side without the nodes above its exchange: if found first, it would stand for, say, a whole aggregation of which it
  // has only the partial half. So a search for one node skips the sources; a visit of all nodes does not.
  override def collectFirst[B](pf: PartialFunction[SparkPlan, B]): Option[B] = pf.lift(this).orElse(child.collectFirst(pf))
  override def exists(f: SparkPlan => Boolean): Boolean = f(this) || child.exists(f)

  // AQE keeps the cheaper of two plans, and counts what it visits. A source is a copy of a build side, which counts once, in its join: if
  // copies counted too, AQE would drop re-plans that are cheaper, such as its own change to a broadcast join.
  override def foreach(f: SparkPlan => Unit): Unit = {
    f(this)
    child.foreach(f)
    (sources ++ clock).foreach(_.foreach(node => if (!RuntimeFilterExec.isPriced(node)) f(node)))
    if (sources.exists(RuntimeFilterExec.isHeld)) RuntimeFilterExec.priceOfHolding.foreach(f)
  }

  override def nodeName: String = "RuntimeFilter"

  override def simpleString(maxFields: Int): String =
    s"$nodeName ${units.map(_.flatMap(labels.lift).mkString(" or ")).mkString("[", "; ", "]")}"

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): SparkPlan =
    copy(child = newChildren.head, sources = newChildren.slice(1, 1 + sources.size), clock = newChildren.drop(1 + sources.size).headOption)
}

object RuntimeFilterExec {

  /** Whether AQE's cost of a plan counts the node: shuffles that have not started, skew joins and, since Spark 4.3, sorts. */
  private def isPriced(node: SparkPlan): Boolean = node match {
    case _: ShuffleExchangeLike | _: ShuffledJoin | _: SortExec => true
    case _                                                      => false
  }

  /** Whether AQE has taken the plan in which the filter is held back until the next one, or which an engine must not run. */
  private def isHeld(source: SparkPlan): Boolean = source match {
    case RuntimeFilterExchangeExec(_, clock: QueryStageExec, _, _, _) => WaitClockExec.sourceHeld(clock).isDefined
    case WaitClockExec(_, filter)                                     => isHeld(filter)
    case gate: BroadcastQueryStageExec if gate.isMaterialized         => gate.broadcast.isInstanceOf[WaitClockExec]
    case _                                                            => false
  }

  /** Makes AQE take the next plan. Where another plan of the query has run an exchange, AQE does not show its stage, counts it once more in
    * the next plan, and would stay with the one that holds the filter back.
    */
  private def priceOfHolding: Seq[SparkPlan] = Seq.fill(HeldShuffles)(ThisSparkLine.shuffleOf(NoRowsExec(Nil)))
  private[aqeplugin] val HeldShuffles = 100

  /** @param filters
    *   per source, the filter that was found, or why there was none
    * @param waitMillis
    *   from the first planning of the query until the filters were ready, including time that the scan would have waited anyway
    */
  private final case class Run(filters: Seq[Either[FilterSource.Missing, Either[Reason, FilterSummary]]], waitMillis: Long)
}

/** The name of a filter on a scan.
  *
  * @param filterId
  *   unique within its query
  * @param joinId
  *   the join whose build side the filter comes from
  * @param table
  *   the scanned table, or the kind of scan if it has no name; `(shuffle)` or `(broadcast)` of a filter in front of that exchange
  * @param columns
  *   the keys, by the scan's columns
  * @param why
  *   a short form of the decision
  * @param leftOut
  *   asked when the scan has run. It makes no label another one: AQE compares plans
  */
final case class FilterLabel(
    filterId: String,
    joinId: String,
    table: String,
    columns: Seq[String],
    why: String
)(@transient val leftOut: LeftOut.Told = () => None) {

  /** The outcome of the filter without rows.
    *
    * @param found
    *   the filter, or why there is none; none if it was not found
    */
  def outcome(found: Option[Either[Reason, FilterSummary]], waitMillis: Long): FilterOutcome = {
    val built = found.flatMap(_.toOption)
    val told = leftOut()
    val files = told.flatMap(_.toOption)
    FilterOutcome(
      filterId,
      joinId,
      table,
      columns,
      built.fold(found.fold(FilterOutcome.Missing)(_ => FilterOutcome.PassAll))(_.kind),
      found.flatMap(_.left.toOption),
      rowsIn = 0,
      rowsOut = 0,
      rowsUnchecked = 0,
      built.fold(0L)(_.sizeBytes),
      built.fold(0L)(_.buildMillis),
      waitMillis,
      built.fold(0L)(_.rows),
      filesLeftOut = files.map(_.files.count),
      bytesLeftOut = files.map(_.files.bytes),
      filesKept = told.flatMap(_.left.toOption),
      filesListed = files.map(_.listed)
    )
  }

  override def toString: String = s"$table(${columns.mkString(", ")}) by $joinId: $why"
}
