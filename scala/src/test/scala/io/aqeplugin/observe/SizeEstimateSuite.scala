package io.aqeplugin.observe

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** How many rows an operator is expected to give, before anything has run. */
class SizeEstimateSuite extends AnyFunSuite with PluginSession {
  private val KeptPerPredicate = 0.3

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id % 90 AS k, id AS v FROM range(30000)")
    table("dim", "SELECT id AS dk, id % 7 AS n FROM range(90)")
  }

  private def estimate(query: String): SizeEstimate =
    withConf("spark.aqePlugin.mode" -> "off") {
      new SizeEstimator(KeptPerPredicate, TableStatistics.None)(spark.sql(query).queryExecution.sparkPlan)
    }

  private def isNear(rows: Double, expected: Double): Boolean = math.abs(rows - expected) <= 1e-6 * expected

  test("a filter keeps wait.keptPerPredicate of the rows below it") {
    val some = estimate("SELECT * FROM fact WHERE v > 3")
    assert(isNear(some.rows, estimate("SELECT * FROM fact").rows * KeptPerPredicate))
    assert(some.kept == KeptPerPredicate)
  }

  test("a filter that only drops nulls keeps every row") {
    assert(estimate("SELECT * FROM fact WHERE k IS NOT NULL") == estimate("SELECT * FROM fact"))
  }

  test("an inner join keeps the smaller side's share of the larger side") {
    val joined = estimate("SELECT * FROM fact JOIN dim ON k = dk WHERE n = 2")
    assert(isNear(joined.rows, estimate("SELECT * FROM fact").rows * KeptPerPredicate))
    assert(joined.kept == KeptPerPredicate)
  }

  test("an outer join keeps every row of its larger side") {
    assert(isNear(
      estimate("SELECT * FROM fact LEFT JOIN (SELECT * FROM dim WHERE n = 2) ON k = dk").rows,
      estimate("SELECT * FROM fact").rows
    ))
  }
}
