package io.aqeplugin.exec

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.filters.ColumnExtremes
import io.aqeplugin.observe.JoinKey

/** How often the rows of a finished broadcast are read for its range. */
class RangeBuildSuite extends AnyFunSuite with PluginSession {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("points", "SELECT CAST(id AS int) AS x, CAST(id % 5 AS int) AS k FROM range(1000)")
    table("spans", "SELECT CAST(id % 2 AS int) AS k, CAST(40 + id AS int) AS lo, CAST(60 + id AS int) AS hi FROM range(4)")
  }

  private def broadcastOf(plan: SparkPlan): BroadcastQueryStageExec =
    collect(plan) { case stage: BroadcastQueryStageExec => stage }.headOption.getOrElse(fail(s"no broadcast in\n$plan"))

  private def kept(stage: BroadcastQueryStageExec, keys: Seq[Expression]) =
    BuildRecord.extremes(stage, keys)(fail("the rows are read again"))

  private val Keys = Seq("hi", "lo")
  private val Expected = Right(ColumnExtremes(4, Seq(60, 40), Seq(63, 43)))

  for (
    (join, condition) <- Seq(
      "a nested loop join" -> "p.x BETWEEN s.lo AND s.hi",
      "a hash join" -> "p.k = s.k AND p.x BETWEEN s.lo AND s.hi"
    )
  ) {
    val query = s"SELECT p.x, s.lo FROM points p JOIN spans s ON $condition"

    test(s"$join keeps the extremes that its decision read") {
      withConf("spark.aqePlugin.mode" -> "observe") {
        val stage = broadcastOf(withPlugin(spark.sql(query)).plan)
        val keys = Keys.map(name => stage.output.find(_.name == name).getOrElse(fail(s"no $name in ${stage.output}")))
        assert(kept(stage, keys) == Expected)
      }
    }

    test(s"the filter of $join asks for these extremes") {
      val plan = sameRows(spark.sql(query)).plan
      val exchanges = collect(plan) { case stage: BroadcastQueryStageExec => stage.broadcast }
      val range = exchanges
        .collectFirst { case exchange: RuntimeFilterExchangeExec if exchange.bounds.isDefined => exchange }
        .getOrElse(fail(s"no range filter in\n$plan"))
      assert(range.keys.map(JoinKey.columnOf(_).name) == Keys)
      assert(kept(broadcastOf(range.child), range.keys) == Expected)
    }
  }
}
