package io.aqeplugin.observe

import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanHelper, ShuffleQueryStageExec}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.{EstimateSource, RowEstimate, RowsSoFar}
import io.aqeplugin.e2e.PluginSession

class StageReaderSuite extends AnyFunSuite with PluginSession with AdaptiveSparkPlanHelper {

  /** For each shuffle of a query, from the top, what is known of the table below while it runs. */
  private def soFar(query: String, tables: TableStatistics): Seq[RowsSoFar] =
    withConf("spark.aqePlugin.mode" -> "off") {
      val frame = spark.sql(query)
      val _ = frame.collect()
      collect(frame.queryExecution.executedPlan) { case stage: ShuffleQueryStageExec => stage }
        .flatMap(StageReader.originRowsSoFar(_, Nil, tables))
    }

  private val groups = "SELECT id % 10 AS k, count(*) AS n FROM range(1000) GROUP BY 1"

  test("what came out of a scan is all of its table for a later stage, and a part for the stage of the scan") {
    val query = s"SELECT n, count(*) FROM ($groups) GROUP BY n"
    assert(soFar(query, TableStatistics.None) == Seq(RowsSoFar(1000, isComplete = true), RowsSoFar(1000, isComplete = false)))
  }

  test("rows of a known table are all of its rows even for the stage of the scan") {
    val footers: TableStatistics = _ => Some(TableFacts(Some(RowEstimate(5000, EstimateSource.Footers))))
    assert(soFar(groups, footers) == Seq(RowsSoFar(5000, isComplete = true)))
  }
}
