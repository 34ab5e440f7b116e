package io.aqeplugin.rules

import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.{Exchange, ShuffleExchangeExec}
import org.apache.spark.sql.execution.joins.{BaseJoinExec, SortMergeJoinExec}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

class StagesBelowSuite extends AnyFunSuite with PluginSession {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id % 90 AS k, id % 13 AS v, id AS n FROM range(4000)")
    table("dim", "SELECT id AS dk, id % 10 AS g FROM range(40)")
  }

  private val noBroadcast = "spark.sql.autoBroadcastJoinThreshold" -> "-1"

  /** The right side of the topmost join of `query`, of which nothing has run. */
  private def side(query: String): SparkPlan = withConf("spark.aqePlugin.mode" -> "off") {
    val plan = spark.sql(query).queryExecution.executedPlan match {
      case adaptive: AdaptiveSparkPlanExec => adaptive.initialPlan
      case other                           => fail(s"not adaptive:\n$other")
    }
    plan.collectFirst { case join: BaseJoinExec => join.right }.getOrElse(fail(s"no join in\n$plan"))
  }

  private def stages(build: String): Int =
    withConf(noBroadcast)(StagesBelow.inSequence(side(s"SELECT * FROM fact JOIN ($build) b ON k = b.x")))

  test("a scan has only its own stage") {
    assert(stages("SELECT dk AS x FROM dim") == 1)
  }

  test("an aggregate by other columns comes before, and one of its sums before that") {
    assert(stages("SELECT max(n) AS x FROM fact GROUP BY v") == 2)
    assert(stages("SELECT max(m) AS x FROM (SELECT v, v + k AS w, count(*) AS m FROM fact GROUP BY v, v + k) GROUP BY w") == 3)
  }

  test("of branches that run beside each other, the longest counts") {
    assert(stages("SELECT max(n) AS x FROM fact GROUP BY v UNION ALL SELECT dk FROM dim") == 2)
  }

  test("a broadcast inside the build side does not count, and a broadcast build side counts as its own stage") {
    val inside = "SELECT /*+ BROADCAST(d) */ n AS x FROM fact JOIN dim d ON v = dk"
    assert(stages(inside) == 1)
    val broadcast = side("SELECT /*+ BROADCAST(b) */ * FROM fact JOIN (SELECT max(n) AS x FROM fact GROUP BY v) b ON k = b.x")
    assert(StagesBelow.inSequence(broadcast) == 2)
  }

  test("among the stages that are left, broadcasts count") {
    val one = "SELECT /*+ BROADCAST(d) */ n AS x FROM fact JOIN dim d ON v = dk"
    val two =
      "SELECT /*+ BROADCAST(e) */ n AS x FROM fact JOIN (SELECT /*+ BROADCAST(d) */ f.k FROM fact f JOIN dim d ON f.v = d.dk) e ON v = e.k"
    val left = Seq("SELECT dk AS x FROM dim", one, two).map(build =>
      withConf(noBroadcast)(StagesBelow.left(side(s"SELECT * FROM fact JOIN ($build) b ON k = b.x")))
    )
    assert(left == Seq(1, 2, 3))
  }

  test("a stage runs from when it was submitted until it has finished") {
    val plan = withConf(noBroadcast)(side("SELECT * FROM fact JOIN (SELECT max(n) AS x FROM fact GROUP BY v) b ON k = b.x"))
    val submitted = plan.transformUp {
      case exchange: ShuffleExchangeExec if !exchange.child.exists(_.isInstanceOf[Exchange]) =>
        ShuffleQueryStageExec(0, exchange, exchange.canonicalized)
    }
    assert(!StagesBelow.runs(plan) && StagesBelow.runs(submitted), submitted)
    assert(StagesBelow.left(plan) == StagesBelow.left(submitted))
  }

  test("what has finished does not count") {
    val query = "SELECT * FROM fact JOIN (SELECT max(n) AS x FROM fact GROUP BY v) b ON k = b.x"
    val plan = withConf(noBroadcast, "spark.aqePlugin.mode" -> "off") {
      val frame = spark.sql(query)
      frame.collect()
      frame.queryExecution.executedPlan match {
        case adaptive: AdaptiveSparkPlanExec => adaptive.executedPlan
        case other                           => fail(s"not adaptive:\n$other")
      }
    }
    val joins = collect(plan) { case join: SortMergeJoinExec => join }
    assert(joins.map(join => StagesBelow.inSequence(join.right) -> StagesBelow.left(join.right)) == Seq(1 -> 0), plan)
    assert(!joins.exists(join => StagesBelow.runs(join.right)), plan)
  }
}
