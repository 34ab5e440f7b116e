package io.aqeplugin.observe

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan, UnaryExecNode, UnionExec}
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.{EstimateSource, RowEstimate}
import io.aqeplugin.e2e.PluginSession

/** Estimates count each filter inside a stage once, however many joins are above it. */
class FiltersInsideSuite extends AnyFunSuite with PluginSession {
  import FiltersInsideSuite._

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id % 90 AS k, id AS v FROM range(1000)")
    table("other", "SELECT id % 90 AS ok, id AS w FROM range(1000)")
    table("dim", "SELECT id AS dk, id % 7 AS n FROM range(100)")
  }

  private def planned(query: String): SparkPlan =
    withConf("spark.aqePlugin.mode" -> "off", "spark.sql.adaptive.enabled" -> "false")(spark.sql(query).queryExecution.sparkPlan)

  private def tableOf(scan: SparkPlan): String =
    Rows.keys.find(name => scan.output.exists(column => Columns(name).contains(column.name))).getOrElse(fail(s"no table of $scan"))

  /** The tables have the rows of `Rows`, and predicates keep a tenth. */
  private def rows(plan: SparkPlan, rates: (String, Double)*): Double = {
    val tables: TableStatistics = scan => Some(TableFacts(Some(RowEstimate(Rows(tableOf(scan)), EstimateSource.Footers))))
    new SizeEstimator(0.1, tables, Decided(rates.toMap))(plan).rows
  }

  private def withFilters(plan: SparkPlan, byTable: (String, Seq[Seq[String]])*): SparkPlan = plan.transformUp {
    case scan: FileSourceScanExec => byTable.toMap.get(tableOf(scan)).fold[SparkPlan](scan)(Started(scan, _))
  }

  private def one(joinId: String): Seq[Seq[String]] = Seq(Seq(joinId))

  private def isNear(rows: Double, expected: Double): Boolean = math.abs(rows - expected) <= 1e-6 * expected

  test("filters keep their pass rates of a scan, and a union keeps the pass rate that each of its members was decided to have") {
    val scan = withFilters(planned("SELECT k, v FROM fact"), "fact" -> Seq(Seq("a"), Seq("b", "c")))
    assert(isNear(rows(scan, "a" -> 0.5, "b" -> 0.4, "c" -> 0.4), 1000000 * 0.2))
    assert(isNear(rows(scan), 1000000))
  }

  test("a filter that lets all rows pass, or that the scan did not find, keeps all") {
    val scan = planned("SELECT k, v FROM fact").collectLeaves().head
    Seq(FilterOutcome.PassAll, FilterOutcome.Missing).foreach { kind =>
      assert(isNear(rows(Started(scan, Seq(Seq("a"), Seq("b")), Map("a" -> kind)), "a" -> 0.5, "b" -> 0.1), 1000000 * 0.1))
    }
  }

  private def joined: SparkPlan = planned("SELECT v, n FROM fact JOIN dim ON k = dk WHERE n = 2")

  test("what the filter of a join has removed, the join does not remove again, and that of another join it does") {
    assert(isNear(rows(withFilters(joined, "fact" -> one("own")), "own" -> 0.1), 100000))
    assert(isNear(rows(withFilters(joined, "fact" -> one("own")), "own" -> 0.5), 100000))
    assert(isNear(rows(withFilters(joined, "fact" -> one("own")), "own" -> 0.01), 10000))
    assert(isNear(rows(withFilters(joined, "fact" -> Seq(Seq("own"), Seq("other"))), "own" -> 0.1, "other" -> 0.5), 50000))
  }

  test("a filter further up leaves those below it known") {
    val twice =
      joined.transformUp { case scan: FileSourceScanExec if tableOf(scan) == "fact" => Started(Started(scan, one("own")), one("other")) }
    assert(isNear(rows(twice, "own" -> 0.1, "other" -> 0.5), 50000))
  }

  test("a stage that runs once for equal joins has the filter of one of them") {
    assert(isNear(rows(withFilters(joined, "fact" -> one("own#2")), "own#2" -> 0.1), 100000))
  }

  test("of a filtered side with fewer rows than the build side, the join still keeps the rows") {
    assert(isNear(rows(withFilters(joined, "fact" -> one("own")), "own" -> 2e-6), 2))
  }

  test("a filter on both sides of a join is counted once") {
    val plan = withFilters(planned("SELECT v, w FROM fact JOIN other ON k = ok"), "fact" -> one("above"), "other" -> one("above"))
    assert(isNear(rows(plan, "above" -> 0.01), 10000))
  }

  test("a filter in one part of a union removes nothing from the others") {
    val parts = planned("SELECT k AS key FROM fact UNION ALL SELECT ok AS key FROM other").collectFirst { case union: UnionExec => union }
    val filtered = withFilters(parts.getOrElse(fail("no union")), "fact" -> one("own"))
    val dim = planned("SELECT dk FROM dim WHERE n = 2")
    val join = joined.collectFirst { case join: BaseJoinExec => join }.getOrElse(fail("no join"))
    // A hundredth of one half, and all of the other half: the join keeps a tenth of what there was without the filter.
    assert(isNear(rows(join.withNewChildren(Seq(filtered, dim)), "own" -> 0.01), 2000000 * 0.1))
  }
}

private object FiltersInsideSuite {
  val Rows: Map[String, Long] = Map("fact" -> 1000000L, "other" -> 1000000L, "dim" -> 100L)
  val Columns: Map[String, Set[String]] = Map("fact" -> Set("k", "v"), "other" -> Set("ok", "w"), "dim" -> Set("dk", "n"))

  /** Every join is `own`. */
  final case class Decided(rates: Map[String, Double]) extends DecidedFilters {
    override def passRate(joinId: String): Option[Double] = rates.get(joinId)
    override def joinId(join: BaseJoinExec): Option[String] = Some("own")
  }

  /** A scan with filters, of which `kinds` says what became of them. */
  final case class Started(child: SparkPlan, joinIdsByFilter: Seq[Seq[String]], kinds: Map[String, String] = Map.empty)
      extends UnaryExecNode with StartedFilters {
    override def outcomes: Seq[FilterOutcome] = kinds.toSeq.map { case (joinId, kind) =>
      FilterOutcome(joinId, joinId, "fact", Seq("k"), kind, None, 0, 0, 0, 0, 0, 0, 0)
    }
    override def rows: (Long, Long) = (0L, 0L)
    override def faults: Long = 0
    override def output: Seq[Attribute] = child.output
    override protected def doExecute(): RDD[InternalRow] = child.execute()
    override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
  }
}
