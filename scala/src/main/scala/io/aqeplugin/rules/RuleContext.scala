package io.aqeplugin.rules

import org.apache.spark.SparkContext
import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.command.ExplainCommand
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.{AqeConf, ConfError, Mode, SessionConf, Settings}
import io.aqeplugin.decide._
import io.aqeplugin.exec.DataFiles
import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.observe._
import io.aqeplugin.storage.{KnownTables, SelectedFiles}

/** The input of one call of a rule. */
final case class RuleContext(
    sparkContext: SparkContext,
    state: QueryState,
    mode: Mode,
    thresholds: Thresholds,
    cluster: ClusterSeen,
    pruning: PruningBuilds = PruningBuilds.None,
    plans: QueryPlans = QueryPlans.None,
    engine: Option[Engine] = None
) {

  /** What is known of scanned tables, read once per query. */
  val tables: TableStatistics = new TableStatistics {
    override def of(scan: SparkPlan): Option[TableFacts] =
      KnownTables.keyOf(scan).flatMap(table => state.tableFacts(table)(KnownTables.of(scan)))

    override def bytesRead(scan: FileSourceScanExec): Option[Long] = selected(scan).map(_.bytes)

    override def filesRead(scan: SparkPlan): Option[Long] = scan match {
      case file: FileSourceScanExec => selected(file).map(_.count)
      case batch: BatchScanExec     => state.once(Same(batch.scan))(SelectedFiles.numberOf(batch.scan))
      case _                        => None
    }

    private def selected(scan: FileSourceScanExec): Option[DataFiles] =
      state.once((Same(scan.relation.location), SelectedFiles.conditions(scan)))(SelectedFiles.of(scan))
  }

  /** Whether anything looks at the keys of build sides before their filters do. */
  def sketches: Boolean = engine.isEmpty && thresholds(AqeConf.SketchMaxKeys) > 0

  // It asks for every executor, so a call of a rule asks once.
  private lazy val clusterNow: ClusterFacts = ClusterSize.of(sparkContext)
  private lazy val budgetNow: MemoryFacts = budget(clusterNow)
  private lazy val budgetSeen: MemoryFacts = budget(cluster.facts)

  /** The memory that is left now. */
  def memory: MemoryFacts = left(budgetSeen)

  /** The memory of a cluster of which nothing is held. It reads the application's conf, which copies it. */
  private def budget(cluster: ClusterFacts): MemoryFacts = MemoryFacts(
    (ClusterSize.smallestHeapBytes(sparkContext) * thresholds(AqeConf.MemoryMaxShare)).toLong,
    heldBytes = 0,
    Some(ClusterSize.taskBytes(sparkContext, cluster)),
    pageBytes = SparkBridge.pageBytes(sparkContext)
  )

  private def left(budget: MemoryFacts): MemoryFacts = {
    val hashed = state.hashedBytes
    budget.copy(
      heldBytes = QueryStates.heldBytes,
      taskBytes = budget.taskBytes.map(bytes => math.max(0L, bytes - hashed)),
      hashedBytes = hashed
    )
  }

  /** The decision of a join, made from `facts`, what more selective filters of decided joins leave of its scans, and the executors and the
    * memory that there are now, if there is none yet. The queries of an application decide one after the other, so that no two are promised
    * the same memory.
    */
  def decideOnce(joinId: String)(facts: => Option[JoinFacts]): Option[JoinDecision] = state.decision(joinId).orElse(facts.map { found =>
    // Before the lock, for which other queries wait.
    val (now, whole) = (clusterNow, budgetNow)
    RuleContext.deciding.synchronized {
      state.decideOnce(joinId) {
        val alone = DecideJoin.decide(found.copy(cluster = now, memory = Some(left(whole))), thresholds)
        val passed = state.leftByFilters(joinId, alone.passRate)
        if (passed == 1.0) alone else DecideJoin.decide(alone.facts.copy(probe = found.probe.filtered(passed)), thresholds)
      }
    }
  })

  /** Whether the plan is made for an execution. */
  def isExecution: Boolean = state.executionId != RuleContext.NoExecution
}

object RuleContext {

  /** Plans outside an execution (EXPLAIN) are decided like any other, but their state is not kept. */
  private val NoExecution = -1L

  private val deciding = new Object

  private val MaxResultSizeKey = "spark.driver.maxResultSize"

  /** The keys that one task keeps may be this part of the largest result; with results smaller than these bytes, nothing is sketched. */
  private val SketchShare = 16
  private val SmallestResultBytes = 1L << 20
  private val MaxTableSizeKey = "spark.sql.maxBroadcastTableSize"

  /** The context of a query that was planned before. */
  def known(sparkContext: SparkContext): Option[RuleContext] = for {
    state <- QueryStates.current(sparkContext)
    conf <- state.conf
  } yield of(sparkContext, state, conf)

  /** The context of a query that is planned for the first time. */
  def first(session: SparkSession, settings: Settings, plan: QueryPlan[_]): RuleContext = {
    val sparkContext = session.sparkContext
    val execution = executionId(sparkContext)
    val state = execution.fold(new QueryState(NoExecution))(QueryStates.of)
    val pruning = execution.fold(PruningBuilds.None)(PruningBuilds.of(_))
    val mode = if (settings.mode == Mode.Apply && QueryPlans.isOnlyObserved(execution, plan)) Mode.Observe else settings.mode
    val engine = Engines.behind(session, SQLConf.get)
    val thresholds = collectable(Thresholds(settings))
    val conf = QueryConf(
      mode,
      thresholds,
      new ClusterSeen(ClusterSize.of(sparkContext), if (state.hasBegun) 0 else SparkBridge.runningTasks(sparkContext).getOrElse(0)),
      pruning,
      QueryOrigin.of(session, sparkContext),
      SessionConf.arm(SQLConf.get, sparkContext.applicationId, sparkContext.getConf.getAll.toMap),
      // The joins that pruning plans a second time are left alone in one plan, so an equal join of another plan is not the same.
      execution.fold(QueryPlans.None)(QueryPlans.of(_)).copy(haveJoinsAlike = pruning.queries.isEmpty),
      engine
    )
    of(sparkContext, state, state.confOnce(conf))
  }

  /** Records, once per query, that its conf is invalid and it is left alone; returns whether this was the first time. */
  def noteBadConf(sparkContext: SparkContext, error: ConfError): Boolean =
    executionId(sparkContext).forall(id => QueryStates.of(id).noteBadConf(error))

  /** Records a rule that failed: the fault is counted, also for its query, and logged. The query continues with Spark's own plan. Of an application that
    * stops, which answers no question any more, nothing is recorded.
    */
  private[rules] def noteFault(sparkContext: SparkContext, rule: String, error: Throwable): Unit = if (!sparkContext.isStopped) {
    Faults.note(rule, "Spark's own plan is used", error)
    // A class that the rule did not find may be missing here as well.
    try executionId(sparkContext).foreach(QueryStates.of(_).errors.increment())
    catch { case Survivable(_) => () }
  }

  private def of(sparkContext: SparkContext, state: QueryState, conf: QueryConf): RuleContext =
    RuleContext(sparkContext, state, conf.mode, conf.thresholds, conf.cluster, conf.pruning, conf.plans, conf.engine)

  /** None for the SQL command EXPLAIN, which is an execution of its own and does not run the query that it plans. */
  private[rules] def executionId(sparkContext: SparkContext): Option[Long] =
    Executions.idOf(sparkContext).filterNot(Executions.of(_).exists(_.logical.isInstanceOf[ExplainCommand]))

  /** No broadcast or filter exceeds Spark's own limits, because Spark fails a query that does. The rows of a broadcast are collected on the
    * driver as a job's result, and the pages and the hash array of a relation take up to twice its rows, since both grow by doubling. A
    * merged filter is such a result too, and a task's key sketch is a part of one.
    */
  private def collectable(thresholds: Thresholds): Thresholds = {
    val resultBytes = Some(bytesOf(MaxResultSizeKey, "1g")).filter(_ > 0).getOrElse(Long.MaxValue)
    thresholds
      .withBroadcastAtMost(resultBytes, MaxResultSizeKey)
      .withBroadcastAtMost(bytesOf(MaxTableSizeKey, "8g") / 2, MaxTableSizeKey)
      .withFiltersAtMost(resultBytes / 2)
      .withSketchesAtMost(if (resultBytes < SmallestResultBytes) 0L else resultBytes / SketchShare / java.lang.Long.BYTES)
      .copy(sparkThresholdKey = SparkThreshold.of(SQLConf.get).key)
  }

  private def bytesOf(key: String, default: String): Long = JavaUtils.byteStringAsBytes(SQLConf.get.getConfString(key, default))
}
