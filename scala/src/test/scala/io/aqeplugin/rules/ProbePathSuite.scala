package io.aqeplugin.rules

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.{PathStep, Side}
import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.observe.{JoinFinder, SizeEstimator, TableStatistics}
import io.aqeplugin.place.FilterTargets

/** What a row of a scan goes through before it reaches a join. */
class ProbePathSuite extends AnyFunSuite with PluginSession {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id % 90 AS k, id % 13 AS v, id AS n FROM range(30000)")
    table("returned", "SELECT id % 90 AS rk, id AS rn FROM range(3000)")
    table("dim", "SELECT id AS dk, id % 7 AS name FROM range(90)")
  }

  private val Sorted = Seq("spark.sql.autoBroadcastJoinThreshold" -> "-1")
  private val Hashed = Seq("spark.sql.autoBroadcastJoinThreshold" -> "10m")

  private def initialPlan(query: String, conf: Seq[(String, String)]): SparkPlan =
    withConf(("spark.aqePlugin.mode" -> "off") +: conf: _*) {
      spark.sql(query).queryExecution.executedPlan match {
        case adaptive: AdaptiveSparkPlanExec => adaptive.initialPlan
        case other                           => fail(s"not adaptive: $other")
      }
    }

  /** The path to the topmost join, whose right side is the build side. */
  private def path(query: String, conf: Seq[(String, String)]): ProbePath = {
    val plan = initialPlan(query, conf)
    val join = JoinFinder.find(plan).headOption.getOrElse(fail(s"no join in $plan"))
    val targets = FilterTargets.below(join.child(Side.Left), join.keys(Side.Left))
    assert(targets.nonEmpty)
    new ProbePath(join.node, FilterTargets.steps(targets), new SizeEstimator(0.3, TableStatistics.None))
  }

  private def rowsOf(table: String): Long =
    math.round(new SizeEstimator(0.3, TableStatistics.None)(initialPlan(s"SELECT * FROM $table ORDER BY 1", Nil)).rows)

  private val AboveTwoColumns =
    "SELECT f.*, dim.name FROM (SELECT * FROM fact LEFT JOIN returned ON k = rk AND n = rn) f JOIN dim ON k = dk"
  private val AboveAJoin = "SELECT f.*, dim.name FROM (SELECT * FROM fact LEFT JOIN returned ON n = rn) f JOIN dim ON k = dk"

  test("a broadcast join below looks every row up in its hash table") {
    assert(path(
      AboveTwoColumns,
      Hashed
    ).steps.contains(PathStep.Lookup(rowsOf("fact"), rowsOf("returned"), tableRowBytes = 24, byRow = true)))
    assert(path(AboveTwoColumns, Hashed).shuffles == 0)
  }

  test("a probe side in which the keys reach no scan has its own shuffle") {
    val grouped = "(SELECT k, count(*) AS c FROM fact GROUP BY k)"
    def shuffles(query: String): Int = {
      val plan = initialPlan(query, Sorted)
      val join = JoinFinder.find(plan).headOption.getOrElse(fail(s"no join in $plan"))
      assert(FilterTargets.below(join.child(Side.Left), join.keys(Side.Left)).forall(!_.isScan))
      ProbePath.ownShuffle(join.node, join.child(Side.Left)).size
    }
    assert(shuffles(s"SELECT * FROM $grouped f JOIN dim ON c = dk") == 1)
    assert(shuffles(s"SELECT * FROM (SELECT c, max(k) FROM $grouped GROUP BY c) f JOIN dim ON c = dk") == 0, "grouped by the key")
  }

  test("the keys of a broadcast by one integer column lie densely") {
    assert(path(AboveAJoin, Hashed).steps == Seq(PathStep.Lookup(rowsOf("fact"), tableRows = 0, tableRowBytes = 24)))
  }

  test("a lookup whose matches are checked by a condition costs more than that of a number") {
    val found = path("SELECT f.*, dim.name FROM (SELECT * FROM fact LEFT JOIN returned ON n = rn AND v > rk) f JOIN dim ON k = dk", Hashed)
    assert(found.steps.collect { case lookup: PathStep.Lookup => lookup.byRow } == Seq(true))
  }

  test("rows of the build side of a broadcast join below are collected, and the other side looks up in fewer of them") {
    val found = path(AboveTwoColumns, Hashed)
    assert(found.steps.contains(PathStep.Broadcast(rowsOf("returned"), rowBytes = 24, probeRows = rowsOf("fact"))))
  }

  test("a sort-merge join below shuffles, sorts and merges; the join's own shuffle and sort are not below it") {
    val found = path(AboveAJoin, Sorted)
    assert(found.steps.map(_.productPrefix) == Seq("Merge", "Sort", "Shuffle") && found.steps.map(_.rows).forall(_ == rowsOf("fact")))
    assert(found.shuffles == 2)
  }

  test("an aggregate by the key puts its rows into groups twice, around a shuffle") {
    val found = path("SELECT * FROM (SELECT k, sum(n) AS n FROM fact GROUP BY k) JOIN dim ON k = dk", Hashed)
    assert(found.steps.map(_.productPrefix) == Seq("Group", "Shuffle", "Group") && found.shuffles == 1)
  }

  test("an operator above several scans counts once") {
    val union = "(SELECT k, v FROM fact UNION ALL SELECT rk, rn FROM returned)"
    val found = path(s"SELECT * FROM (SELECT u.k FROM $union u JOIN dim d ON u.v = d.dk) w JOIN dim ON w.k = dim.dk", Hashed)
    found.steps match {
      case Seq(PathStep.Lookup(rows, _, _, _)) => assert(math.abs(rows - rowsOf("fact") - rowsOf("returned")) <= 1)
      case other                               => fail(s"$other")
    }
  }
}
