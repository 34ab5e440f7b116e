package io.aqeplugin.rules

import org.apache.spark.SparkContext
import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.{Mode, SessionConf, Settings}
import io.aqeplugin.decide.{ClusterFacts, Thresholds}
import io.aqeplugin.observe.{PruningBuilds, QueryConf, QueryOrigin, QueryState, QueryStates}

/** What one call of a rule works with. */
final case class RuleContext(
    sparkContext: SparkContext,
    state: QueryState,
    mode: Mode,
    thresholds: Thresholds,
    cluster: ClusterFacts,
    pruning: PruningBuilds = PruningBuilds.None
) {

  /** Whether the plan is made to be run. */
  def isExecution: Boolean = state.executionId != RuleContext.NoExecution
}

object RuleContext {

  /** Plans made outside of an execution (EXPLAIN) are decided like any other and forgotten at once. */
  private val NoExecution = -1L

  private val MaxResultSizeKey = "spark.driver.maxResultSize"
  private val MaxTableSizeKey = "spark.sql.maxBroadcastTableSize"

  /** The context of a query that was planned before. */
  def known(sparkContext: SparkContext): Option[RuleContext] = for {
    state <- QueryStates.current(sparkContext)
    conf <- state.conf
  } yield of(sparkContext, state, conf)

  /** The context of a query that is planned for the first time. */
  def first(session: SparkSession, settings: Settings): RuleContext = {
    val sparkContext = session.sparkContext
    val execution = executionId(sparkContext)
    val state = execution.fold(new QueryState(NoExecution))(QueryStates.of)
    val pruning = execution.fold(PruningBuilds.None)(PruningBuilds.of(_))
    val conf = QueryConf(
      settings.mode,
      collectable(Thresholds(settings)),
      clusterOf(sparkContext),
      pruning,
      QueryOrigin.of(session, sparkContext),
      SessionConf.arm(SQLConf.get, sparkContext.applicationId, sparkContext.getConf.getAll.toMap)
    )
    of(sparkContext, state, state.confOnce(conf))
  }

  /** Leaves the query that is planned alone because of its conf, and counts that once in its account; whether it was not yet counted. */
  def countBadConf(sparkContext: SparkContext): Boolean = executionId(sparkContext).forall(id => QueryStates.of(id).countBadConf())

  private def of(sparkContext: SparkContext, state: QueryState, conf: QueryConf): RuleContext =
    RuleContext(sparkContext, state, conf.mode, conf.thresholds, conf.cluster, conf.pruning)

  private def executionId(sparkContext: SparkContext): Option[Long] =
    Option(sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)).map(_.toLong)

  /** No broadcast is larger than what Spark itself allows, beyond which it fails the query: rows are collected on the driver as the result of a job,
    * and the pages and the hash array of a relation are as much as twice its rows, since both grow by doubling. Nor is a filter, which
    * is such a result when it is merged.
    */
  private def collectable(thresholds: Thresholds): Thresholds = {
    val resultBytes = Some(bytesOf(MaxResultSizeKey, "1g")).filter(_ > 0).getOrElse(Long.MaxValue)
    thresholds
      .withBroadcastAtMost(resultBytes, MaxResultSizeKey)
      .withBroadcastAtMost(bytesOf(MaxTableSizeKey, "8g") / 2, MaxTableSizeKey)
      .withFiltersAtMost(resultBytes / 2)
      .copy(sparkThresholdKey = SparkThreshold.of(SQLConf.get).key)
  }

  private def bytesOf(key: String, default: String): Long = JavaUtils.byteStringAsBytes(SQLConf.get.getConfString(key, default))

  // Asks the driver's block manager for every executor it knows.
  private def clusterOf(sparkContext: SparkContext): ClusterFacts =
    ClusterFacts(sparkContext.defaultParallelism, math.max(1, sparkContext.getExecutorMemoryStatus.size - 1))

}
