package io.aqeplugin.e2e

import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, SortMergeJoinExec}
import org.scalatest.funsuite.AnyFunSuite

/** Whether the plugin works at all on a Spark line. `make test` runs this on the lines whose whole suite it leaves out. */
class SmokeSuite extends AnyFunSuite with PluginSession {
  import SmokeSuite._

  override protected def applicationConf: Map[String, String] = Map("spark.sql.autoBroadcastJoinThreshold" -> "20000")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 3000 AS int) AS k, uuid() AS u FROM range(6000)", files = 2)
    table("dim", "SELECT CAST(id AS int) AS dk, CAST(id % 700 AS int) AS dv, uuid() AS u1, uuid() AS u2 FROM range(3000)")
  }

  test("a join with a small build side becomes a broadcast join with the same rows") {
    val result = sameRows(spark.sql(SelectiveJoin))
    assert(result.decided.size == 1)
    assert(collect(result.plan) { case join: BroadcastHashJoinExec => join }.size == 1)
  }

  test("the probe side of a sort-merge join is filtered, and the rows are the same") {
    // So few rows are not worth a stage.
    val result = withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.aqePlugin.cost.jobLaunchNanos" -> "0")(
      sameRows(spark.sql(SelectiveJoin))
    )
    assert(collect(result.plan) { case join: SortMergeJoinExec => join }.size == 1)
    assert(filtered(result) == Seq("parquet-fact(k)"))
  }

  test("the decisions can be read as a table in the session") {
    assert(spark.sql("SELECT * FROM aqe_decisions()").count() > 0)
  }
}

object SmokeSuite {
  private val SelectiveJoin = "SELECT * FROM fact JOIN dim ON k = dk WHERE dv = 8"
}
