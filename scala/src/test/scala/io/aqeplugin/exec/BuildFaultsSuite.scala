package io.aqeplugin.exec

import org.apache.spark.sql.execution.{SQLExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

import io.aqeplugin.decide.ReasonCode
import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.filters.FilterLimits
import io.aqeplugin.metrics.Faults
import io.aqeplugin.observe.QueryStates

class BuildFaultsSuite extends AnyFunSuite with PluginSession {

  private val ExecutionId = Long.MaxValue

  /** The keys belong to a different plan than the build side. */
  private def buildOfStrangeKeys: RuntimeFilterExchangeExec = {
    def scan: SparkPlan = spark.range(10).queryExecution.sparkPlan
    val shuffle = ShuffleExchangeExec(SinglePartition, scan)
    val stage = ShuffleQueryStageExec(0, shuffle, shuffle.canonicalized)
    RuntimeFilterExchangeExec(scan.output, stage, BuildLimits(FilterLimits(Long.MaxValue, 100, 1L << 20, 0.01), 10, 30000L, 0), "the join")
  }

  test("a failed build passes all rows and counts as an error of its query") {
    val state = QueryStates.of(ExecutionId)
    val faults = Faults.count
    spark.sparkContext.setLocalProperty(SQLExecution.EXECUTION_ID_KEY, ExecutionId.toString)
    try {
      val exchange = buildOfStrangeKeys
      assert(exchange.executeBroadcast[Any]() != null)
      eventually(timeout(Span(10, Seconds)))(assert(exchange.result.exists(_.left.exists(_.code == ReasonCode.BuildFailed))))
      assert(state.errors.sum() == 1 && Faults.count == faults + 1)
    } finally {
      spark.sparkContext.setLocalProperty(SQLExecution.EXECUTION_ID_KEY, null)
      val _ = QueryStates.remove(ExecutionId)
    }
  }
}
