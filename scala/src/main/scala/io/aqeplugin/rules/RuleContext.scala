package io.aqeplugin.rules

import org.apache.spark.SparkContext
import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.{Mode, Settings}
import io.aqeplugin.decide.{ClusterFacts, Thresholds}
import io.aqeplugin.observe.{QueryState, QueryStates}

/** What one call of a rule works with. */
final case class RuleContext(sparkContext: SparkContext, state: QueryState, mode: Mode, thresholds: Thresholds, cluster: ClusterFacts)

object RuleContext {

  /** Plans made outside of an execution (EXPLAIN) are decided like any other and forgotten at once. */
  private val NoExecution = -1L

  def of(sparkContext: SparkContext, settings: Settings): RuleContext = {
    val state: QueryState = Option(sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)).map(_.toLong) match {
      case Some(executionId) => QueryStates.of(executionId)
      case None              => new QueryState(NoExecution)
    }
    state.noteMode(settings.mode)
    RuleContext(
      sparkContext,
      state,
      settings.mode,
      collectable(Thresholds.from(settings), sparkContext),
      state.cluster(clusterOf(sparkContext))
    )
  }

  /** No broadcast is larger than what Spark itself allows: rows are collected on the driver as the result of a job, and one that is too large
    * fails the query.
    */
  private def collectable(thresholds: Thresholds, sparkContext: SparkContext): Thresholds = {
    val conf = SQLConf.get
    val resultBytes =
      Some(conf.getConfString("spark.driver.maxResultSize", "1g")).map(text => JavaUtils.byteStringAsBytes(text)).filter(_ > 0)
    val tableBytes = Option(conf.getConfString("spark.sql.maxBroadcastTableSize", null)).map(text => JavaUtils.byteStringAsBytes(text))
    val broadcast = thresholds.broadcast
    val allowedBytes = (Seq(broadcast.maxMemoryBytes) ++ resultBytes ++ tableBytes).min
    thresholds.copy(broadcast = broadcast.copy(maxMemoryBytes = allowedBytes))
  }

  // Asks the driver's block manager for every executor it knows: once a query is enough.
  private def clusterOf(sparkContext: SparkContext): ClusterFacts =
    ClusterFacts(sparkContext.defaultParallelism, math.max(1, sparkContext.getExecutorMemoryStatus.size - 1))

  def isExecution(context: RuleContext): Boolean = context.state.executionId != NoExecution
}
