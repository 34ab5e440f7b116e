package io.aqeplugin.observe

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.{EstimateSource, RowEstimate}
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

  test("a filter on one scan counts in the estimates above it that were made before, and in no other") {
    withConf("spark.aqePlugin.mode" -> "off", "spark.sql.adaptive.enabled" -> "false") {
      val plan = spark.sql("SELECT n, count(*) FROM fact JOIN dim ON k = dk GROUP BY n").queryExecution.sparkPlan
      val sizes = new SizeEstimator(KeptPerPredicate, TableStatistics.None)
      def scan(columns: Int) = plan.collectLeaves().find(_.output.size == columns).getOrElse(fail(plan.toString))
      val (fact, dim) = (scan(1), scan(2))
      val before = Seq(plan, fact, dim).map(sizes(_))
      sizes.filter(fact, 0.25)
      val after = Seq(plan, fact, dim).map(sizes(_))
      assert(after.zip(before).map { case (now, then) => now.rows / then.rows } == Seq(0.25, 0.25, 1.0))
      sizes.filter(fact, 0.5)
      assert(sizes(plan).rows == before.head.rows * 0.125)
    }
  }

  test("a filter that no key passes still leaves a row, and a share of the table above 0") {
    withConf("spark.aqePlugin.mode" -> "off", "spark.sql.adaptive.enabled" -> "false") {
      val plan = spark.sql("SELECT k, v FROM fact").queryExecution.sparkPlan
      val sizes = new SizeEstimator(KeptPerPredicate, TableStatistics.None)
      plan.collectLeaves().foreach(sizes.filter(_, 0.0))
      assert(isNear(sizes(plan).rows, 1) && sizes(plan).kept > 0 && isNear(
        sizes(plan).rows / sizes(plan).kept,
        estimate("SELECT * FROM fact").rows
      ))
    }
  }

  private val knows: TableStatistics = _ =>
    Some(TableFacts(Some(RowEstimate(30000, EstimateSource.Footers)), ranges = Map("k" -> ((0L, 89L)), "v" -> ((0L, 29999L)))))

  private def known(query: String): SizeEstimate =
    withConf("spark.aqePlugin.mode" -> "off")(new SizeEstimator(KeptPerPredicate, knows)(spark.sql(query).queryExecution.sparkPlan))

  test("predicates on columns of known range keep their part, however many") {
    val half = known("SELECT * FROM fact WHERE k >= 20 AND k < 65")
    assert(
      half.rows == 15000 && half.kept == 0.5 && half.source == EstimateSource.ColumnRange && half.tableSource == EstimateSource.Footers
    )
    assert(isNear(known("SELECT * FROM fact WHERE k < 45 AND v < 15000").rows, 7500))
  }

  test("unknown predicates keep a fixed share beside known ones") {
    val some = known("SELECT * FROM fact WHERE k < 45 AND v % 7 = 2 AND v % 5 = 1")
    assert(isNear(some.rows, 15000 * KeptPerPredicate) && some.source == EstimateSource.Assumed)
  }

  test("a predicate outside of the known range is not believed to keep nothing") {
    val none = known("SELECT * FROM fact WHERE k > 1000")
    assert(none.rows == 1 && none.kept > 0 && isNear(none.rows / none.kept, 30000))
  }

  test("a plain scan is as sure as the rows of its table") {
    assert(known("SELECT * FROM fact") == SizeEstimate(30000, 1.0, EstimateSource.Footers, EstimateSource.Footers))
    assert(estimate("SELECT * FROM fact").source == EstimateSource.FileBytes)
  }
}
