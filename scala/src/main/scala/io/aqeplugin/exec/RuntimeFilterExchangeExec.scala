package io.aqeplugin.exec

import java.util.concurrent.{CancellationException, CompletableFuture, Future => JavaFuture, ScheduledFuture, TimeUnit, TimeoutException}

import scala.concurrent.{Future, Promise}

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.catalyst.plans.physical.{BroadcastPartitioning, IdentityBroadcastMode, Partitioning}
import org.apache.spark.sql.execution.{ColumnarToRowTransition, InputAdapter, SQLExecution, SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeLike
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide.{Reason, ReasonCode}
import io.aqeplugin.filters.{FilterLimits, RangeBounds}
import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.observe.QueryStates

/** Builds a filter from the join keys of a finished build side and broadcasts its stored form, see [[BuiltFilter.bytes]].
  *
  * AQE treats it as a broadcast stage: it is built once per (build stage, keys, bounds), however many scans and subqueries request it, in the
  * background as soon as the build stage has finished, and is cancelled with the query. It never fails a query: any failure, any build
  * longer than `limits.timeoutMillis`, and a job that gets no slot for `limits.slotMillis`, give a filter that passes all rows.
  *
  * @param keys
  *   the build side's keys, over the columns of `child`
  * @param child
  *   the build side's exchange, later its stage
  * @param limits
  *   limits on the filter's size and build time
  * @param joinId
  *   the join that requested the filter first
  * @param bounds
  *   how the keys bound the values that pass; none if the keys themselves pass
  */
case class RuntimeFilterExchangeExec(
    keys: Seq[Expression],
    child: SparkPlan,
    limits: BuildLimits,
    joinId: String,
    bounds: Option[RangeBounds] = None
) extends BroadcastExchangeLike {

  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = BroadcastPartitioning(IdentityBroadcastMode)

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "filterBytes" -> SQLMetrics.createSizeMetric(sparkContext, "filter size"),
    "keys" -> SQLMetrics.createMetric(sparkContext, "build rows with a key"),
    "buildTime" -> SQLMetrics.createTimingMetric(sparkContext, "time to build the filter")
  )

  // The exchange runs once; a later reset would lose the build's measurements.
  override def resetMetrics(): Unit = ()

  override def runtimeStatistics: Statistics =
    Statistics(BigInt(metrics("filterBytes").value.max(0L)), Some(BigInt(metrics("keys").value.max(0L))))

  @transient private lazy val promise = Promise[Broadcast[Any]]()

  // Set before the promise is completed; read afterwards.
  @transient @volatile private var outcome: Option[Either[Reason, FilterSummary]] = None

  /** The result of the build; none while it runs. */
  def result: Option[Either[Reason, FilterSummary]] = outcome

  @transient override protected lazy val completionFuture: Future[Broadcast[Any]] = {
    relationFuture
    promise.future
  }

  @transient override lazy val relationFuture: JavaFuture[Broadcast[Any]] = {
    val done = new CompletableFuture[Broadcast[Any]]()
    // The threads that work on it belong to no query, so the query is named here.
    val executionId = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    // A driver may not be able to start another thread.
    try begin(done, executionId)
    catch { case error: Throwable => buildFailed(done, error, executionId) }
    done
  }

  private def begin(done: CompletableFuture[Broadcast[Any]], executionId: String): Unit = {
    val startNanos = System.nanoTime()
    def giveUp(limitMillis: Long, confKey: String): Unit =
      try
        if (publish(done, late(startNanos, limitMillis, confKey), executionId))
          SparkBridge.cancelJobsWithTag(sparkContext, jobTag)
      catch { case error: Throwable => buildFailed(done, error, executionId) } // The timer would swallow it.
    val timeout = FilterBuildThreads.timer.afterMillis(limits.timeoutMillis) {
      giveUp(limits.timeoutMillis, AqeConf.FilterBuildTimeout.key)
    }
    val _ = SQLExecution.withThreadLocalCaptured(session, FilterBuildThreads.pool) {
      // Only now: a build that waits for a thread has no job that could be in the queue.
      def look(): ScheduledFuture[_] = FilterBuildThreads.timer.afterMillis(limits.slotMillis) {
        try SparkBridge.startedTasks(sparkContext, jobTag) match {
            case Some(0) if !SparkBridge.hasEndedTasks(sparkContext, jobTag) => giveUp(limits.slotMillis, AqeConf.FilterSlotTimeout.key)
            // The job may not have been submitted yet.
            case None if !promise.isCompleted => val _ = look()
            case _                            =>
          }
        catch { case Survivable(error) => Faults.note("look at a filter's job", s"join $joinId waits for it to the end", error) }
      }
      val queue = look()
      try {
        sparkContext.addJobTag(jobTag)
        sparkContext.setInterruptOnCancel(true)
        // AQE cancels a build that has not begun by its future alone.
        if (done.isDone) fail(done, new CancellationException("cancelled before the filter's build began"))
        else publish(done, new FilterBuild(child, keys, bounds, limits, joinId, startNanos).run(), executionId)
      } catch {
        // Any error, even an OutOfMemoryError: AQE waits for nothing but this promise.
        case error: Throwable if SparkBridge.isCancellation(error) =>
          // Our timer cancels after it has let every row pass. Otherwise the query was cancelled, and must not go on.
          if (!promise.isCompleted) fail(done, error)
        case error: Throwable => buildFailed(done, error, executionId)
      } finally {
        queue.cancel(false)
        if (promise.isCompleted) timeout.cancel(false)
        sparkContext.removeJobTag(jobTag)
      }
    }
  }

  private def buildFailed(done: CompletableFuture[Broadcast[Any]], error: Throwable, executionId: String): Unit =
    try
      try if (!sparkContext.isStopped) {
          Option(executionId).flatMap(_.toLongOption).flatMap(QueryStates.get).foreach(_.errors.increment())
          Faults.note("filter build", s"join $joinId continues without its filter", error)
        }
      finally { val _ = publish(done, BuiltFilter.PassAll(Reason(ReasonCode.BuildFailed)), executionId) }
    catch { case second: Throwable => fail(done, second) }

  private def fail(done: CompletableFuture[Broadcast[Any]], error: Throwable): Unit = {
    val _ = (promise.tryFailure(error), done.completeExceptionally(error))
  }

  private def late(startNanos: Long, limitMillis: Long, confKey: String): BuiltFilter = {
    val elapsedMillis = (System.nanoTime() - startNanos) / 1e6
    BuiltFilter.PassAll(Reason(ReasonCode.BuildTimeout, Some(elapsedMillis), Some(limitMillis.toDouble), "millis", confKey))
  }

  /** Broadcasts `filter` unless there is an outcome already; returns whether it did. */
  private def publish(done: CompletableFuture[Broadcast[Any]], filter: BuiltFilter, executionId: String): Boolean = {
    val broadcast = SparkBridge.broadcast[Any](sparkContext, filter.bytes)
    val first = synchronized {
      if (promise.isCompleted) {
        false
      } else {
        outcome = Some(filter.result)
        // Before AQE knows: the re-plan that follows looks the filter up.
        BuildRecord.note(child, keys, bounds, filter.result)
        if (limits.forEngine)
          Option(executionId).flatMap(_.toLongOption).flatMap(QueryStates.get).foreach(_.noteBuild(canonicalized, this))
        promise.trySuccess(broadcast)
      }
    }
    if (first) {
      filter.result.foreach { summary =>
        longMetric("filterBytes") += summary.sizeBytes
        longMetric("keys") += summary.rows
        longMetric("buildTime") += summary.buildMillis
      }
      // Once it is done, the query may go on and end.
      try {
        FilterCopies.freeAtEnd(sparkContext, Option(executionId).flatMap(_.toLongOption), broadcast)
        SQLMetrics.postDriverMetricUpdates(sparkContext, executionId, metrics.values.toSeq)
      } finally { val _ = done.complete(broadcast) }
    } else {
      broadcast.destroy()
    }
    first
  }

  override protected def doPrepare(): Unit = { val _ = relationFuture }

  override protected def doExecute(): RDD[InternalRow] =
    throw new UnsupportedOperationException("a runtime filter is broadcast and has no rows")

  override def doExecuteBroadcast[T](): Broadcast[T] =
    try relationFuture.get(limits.timeoutMillis + FilterBuildThreads.GraceMillis, TimeUnit.MILLISECONDS).asInstanceOf[Broadcast[T]]
    catch {
      case _: TimeoutException =>
        val none = late(System.nanoTime(), limits.timeoutMillis, AqeConf.FilterBuildTimeout.key)
        SparkBridge.broadcast[Any](sparkContext, none.bytes).asInstanceOf[Broadcast[T]]
    }

  /** Equal for equal (build stage, keys, bounds), regardless of the reads that AQE puts on a finished stage and of the requesting join. */
  override protected def doCanonicalize(): SparkPlan = {
    val build = RuntimeFilterExchangeExec.buildOf(child)
    // By position: in the canonical output of a join or an explode, all columns may be called none#0.
    val normalized = keys.map(key => QueryPlan.normalizeExpressions(key, build.output))
    RuntimeFilterExchangeExec(normalized, WaitClockExec.sourceHeld(build).getOrElse(build.canonicalized), BuildLimits.Canonical, "", bounds)
  }

  override def nodeName: String = "RuntimeFilterExchange"
  override def simpleString(maxFields: Int): String = s"$nodeName ${keys.map(_.sql).mkString("[", ", ", "]")}, $joinId"

  override protected def withNewChildInternal(newChild: SparkPlan): RuntimeFilterExchangeExec = copy(child = newChild)
}

object RuntimeFilterExchangeExec {

  /** The canonical form of what builds a filter from this exchange or stage. */
  def canonical(keys: Seq[Expression], child: SparkPlan, bounds: Option[RangeBounds]): SparkPlan =
    RuntimeFilterExchangeExec(keys, child, BuildLimits.Canonical, "", bounds).canonicalized

  /** The build side's exchange or stage, without what AQE wraps around a stage to read it, as rows where an engine gives batches. */
  def buildOf(child: SparkPlan): SparkPlan = child match {
    case read: AQEShuffleReadExec                                                         => buildOf(read.child)
    case rows @ (_: ColumnarToRowTransition | _: WholeStageCodegenExec | _: InputAdapter) => buildOf(rows.children.head)
    case other                                                                            => other
  }

  /** The build stage, once it exists. */
  def stageOf(child: SparkPlan): Option[QueryStageExec] = buildOf(child) match {
    case stage: QueryStageExec => Some(stage)
    case _                     => None
  }
}

/** Limits of one filter build.
  *
  * @param filter
  *   limits of the filter, on the driver and on executors, before the number of build rows is known; a broadcast relation above the size
  *   limit is not read on the driver
  * @param inListMaxKeys
  *   maximum number of distinct keys that are pushed into the scan as literals
  * @param timeoutMillis
  *   longest wait for the filter once its build side has finished
  * @param slotMillis
  *   longest wait for the first task of the filter's job; without effect from `timeoutMillis` on. The scan is queued behind the same jobs, so
  *   a short queue costs it little, and the filter shortens the queue for all. But what is submitted meanwhile comes before the scan, and
  *   under a long queue that may be much
  * @param sketchedKeys
  *   number of distinct keys that a build side keeps while it runs
  * @param forEngine
  *   an engine checks the keys, see [[HashedKeys]]
  */
final case class BuildLimits(
    filter: FilterLimits,
    inListMaxKeys: Int,
    timeoutMillis: Long,
    slotMillis: Long,
    sketchedKeys: Int,
    forEngine: Boolean = false
)

object BuildLimits {

  /** Replaces every value in a canonical plan. */
  val Canonical: BuildLimits = BuildLimits(FilterLimits(0, 0, 0L, FilterLimits.MinFalsePositiveRate), 0, 0L, 0L, 0)
}
