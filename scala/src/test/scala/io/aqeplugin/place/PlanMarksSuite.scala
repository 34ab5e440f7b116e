package io.aqeplugin.place

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.Exchange
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.exec.RuntimeFilterExchangeExec

/** By which of their marks exchanges and stages are compared before their canonical forms are. */
class PlanMarksSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] =
    Map("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.aqePlugin.test.openGates" -> "true")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("sold", "SELECT id % 9 AS item, id % 20 AS day, id AS x FROM range(1000)")
    table("days", "SELECT id AS d, 2000 + id % 4 AS year FROM range(20)")
  }

  private def ofYear(year: Int): String =
    s"SELECT item, max(x) AS most FROM sold JOIN days ON day = d AND day < 18 WHERE year IN ($year, 2004) AND NOT d > 15 GROUP BY item"

  private def bothYears(one: Int, other: Int): String =
    s"WITH a AS (${ofYear(one)}), b AS (${ofYear(other)}) SELECT a.item, a.most + b.most FROM a JOIN b ON a.item = b.item"

  /** Spark's exchanges and stages of a plan, those inside of stages too. */
  private def parts(plan: SparkPlan): Seq[SparkPlan] = plan.collect {
    case exchange: Exchange    => Seq(exchange)
    case stage: QueryStageExec => stage +: parts(stage.plan)
  }.flatten.filterNot(_.canonicalized.isInstanceOf[RuntimeFilterExchangeExec])

  private def pairs(query: String): Seq[(SparkPlan, SparkPlan)] = {
    val whole = withPlugin(spark.sql(query)).plan.collectFirst { case adaptive: AdaptiveSparkPlanExec => adaptive }.get
    val all = parts(whole.initialPlan) ++ parts(whole.executedPlan)
    for (i <- all.indices; j <- all.indices if i < j) yield (all(i), all(j))
  }

  private val subquery = s"${bothYears(2001, 2002)} WHERE a.most > (SELECT max(most) / 2 FROM (${ofYear(2003)}))"

  test("exchanges and stages that are equal have equal marks, whatever has run of them") {
    for (query <- Seq(bothYears(2001, 2002), bothYears(2001, 2001), subquery)) {
      val found = pairs(query)
      val marks = new PlanMarks(found.head._1)
      val equal = found.filter { case (one, other) => one.canonicalized == other.canonicalized }
      assert(equal.exists { case (one, other) => one.isInstanceOf[Exchange] && other.isInstanceOf[QueryStageExec] })
      equal.foreach { case (one, other) =>
        assert(marks.of(one) == marks.of(other) && marks.literalsOf(one) == marks.literalsOf(other), s"$one\n$other")
      }
    }
  }

  test("parts that read the same tables of another year have other marks") {
    val found = pairs(bothYears(2001, 2002))
    val marks = new PlanMarks(found.head._1)
    assert(found.exists { case (one, other) => marks.of(one) == marks.of(other) && marks.literalsOf(one) != marks.literalsOf(other) })
  }
}
