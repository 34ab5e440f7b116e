package io.aqeplugin.rules

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.SparkPlan
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide.Thresholds
import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.exec.FilterLabel
import io.aqeplugin.place.{FilterRequest, FilterTarget, Placement}

/** A scan has a limited number of filters, and the decision of a filter above the limit says so. */
class FiltersPerScanSuite extends AnyFunSuite with PluginSession {

  test("with one filter per scan, the more selective stays; the other has a reason, and comes in front of the shuffle") {
    table("sold", "SELECT id % 100 AS a, id % 90 AS b, id AS v FROM range(3000)", files = 2)
    // Its predicate is estimated to leave fewer keys than `many` has. It ends last: the scan waits for it alone, and `many` is decided before.
    table("few", "SELECT id AS k, id AS w FROM range(100)")
    spark.udf.register("slowly", (w: Long) => { Thread.sleep(20); w })
    table("many", "SELECT id AS k FROM range(90) WHERE id < 60")
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.aqePlugin.filter.maxPerScan" -> "1") {
      val result = sameRows(spark.sql(
        "SELECT v FROM sold LEFT SEMI JOIN (SELECT k FROM few WHERE slowly(w) < 3) few ON a = few.k LEFT SEMI JOIN many ON b = many.k"
      ))
      assert(filtered(result).filterNot(_.startsWith("(shuffle)")).size == 1)
      val told =
        result.decided.flatMap(_.filters.elements().asScala).map(f => f.path("applied").asBoolean -> f.path("reason").path("code").asText)
      assert(told.toSet == Set(true -> "FILTER_PAYS", false -> "MAX_FILTERS_PER_SCAN"))
    }
  }

  test("a probe side does not wait for a join whose filter is refused, and no wait is reported") {
    table("sold", "SELECT id % 100 AS a, id % 90 AS b, id AS v FROM range(3000)", files = 2)
    table("few", "SELECT id AS k, id AS w FROM range(100)")
    table("many", "SELECT id AS k, id AS w FROM range(90)")
    spark.udf.register("slowly", (w: Long) => { Thread.sleep(20); w })
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.aqePlugin.filter.maxPerScan" -> "1") {
      val result = sameRows(spark.sql(
        """SELECT v FROM sold LEFT SEMI JOIN (SELECT k FROM few WHERE w < 3) few ON a = few.k
          |LEFT SEMI JOIN (SELECT k FROM many WHERE slowly(w) < 60) many ON b = many.k""".stripMargin
      ))
      val refused =
        result.decided.find(_.decision.path("facts").path("joinId").asText == "left_semi:b=k").getOrElse(fail(s"${result.decided}"))
      assert(refused.decision.path("facts").path("waiting").path("outcome").asText == "released", refused)
    }
  }

  test("a plan has the 64 most selective filters; the others name the limit") {
    val scans = Seq.fill(70)(spark.range(1).queryExecution.sparkPlan)
    val onScans = scans.zipWithIndex.map { case (scan, i) => placement(scan, i / 100.0) }
    val manyOnOne = Seq.fill(Thresholds.Default(AqeConf.FilterMaxPerScan).toInt)(placement(scans.head, 0.9))
    val chosen = FiltersPerPlan.choose(onScans ++ manyOnOne, Thresholds.Default(AqeConf.FilterMaxPerScan).toInt)
    assert(chosen.kept == onScans.take(64))
    val told = chosen.refused.map { case (placement, reason) =>
      (placement.expectedPassRate, reason.code.name, reason.limit, reason.confKey)
    }
    val overPlan = ("MAX_FILTERS_PER_PLAN", Some(64.0), "")
    val overScan =
      ("MAX_FILTERS_PER_SCAN", Some(Thresholds.Default(AqeConf.FilterMaxPerScan).toInt.toDouble), "spark.aqePlugin.filter.maxPerScan")
    assert(told.count { case (_, code, limit, key) => (code, limit, key) == overScan } == 1)
    assert(told.filter(_._1 < 0.9).map { case (rate, code, limit, key) => rate -> ((code, limit, key)) } ==
      (64 until 70).map(i => i / 100.0 -> overPlan))
  }

  test("a filter below the right side of an anti join goes with the filter that the left side loses") {
    val left = spark.range(1).queryExecution.sparkPlan
    val right = spark.range(1).queryExecution.sparkPlan
    def filters(joinId: String, rate: Double) = Seq(placement(left, rate, joinId), placement(right, rate, joinId, beside = Seq(left)))
    val chosen = FiltersPerPlan.choose(filters("a", 0.1) ++ filters("b", 0.2).take(1) ++ filters("c", 0.3).drop(1), maxPerScan = 1)
    assert(chosen.kept.map(_.label.joinId) == Seq("a", "a"))
    val crowded = FiltersPerPlan.choose(filters("a", 0.1).take(1) ++ filters("b", 0.2), maxPerScan = 1)
    assert(crowded.kept.map(_.label.joinId) == Seq("a"))
    assert(crowded.refused.map { case (one, reason) => one.label.joinId -> reason.code.name } == Seq.fill(2)("b" -> "MAX_FILTERS_PER_SCAN"))
  }

  test("of filters whose copied build sides would make a plan too large, the most selective stay; the others name the limit") {
    val tables = 13
    (0 until tables).foreach(i => table(s"t$i", s"SELECT id AS k$i FROM range(${40 + i})"))
    // Every table's keys filter the tables before it, so the copies double from table to table.
    val joins = (1 until tables).map(i => s"JOIN t$i ON k${i - 1} = k$i AND t$i.k$i <> ${3 * i}").mkString(" ")
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.aqePlugin.test.openGates" -> "true") {
      val result = sameRows(spark.sql(s"SELECT * FROM t0 $joins"))
      val refused = result.decided.flatMap(_.filters.elements().asScala).map(_.path("reason")).filter(_.path("unit").asText == "operators")
      assert(filtered(result).nonEmpty && refused.nonEmpty)
      assert(refused.forall(r => r.path("code").asText == "MAX_FILTERS_PER_PLAN" && r.path("limit").asDouble == 4096), refused)
      val operators = result.plan.toString.linesIterator.size
      assert(operators < 2 * 4096, operators)
    }
  }

  private def placement(scan: SparkPlan, passRate: Double, joinId: String = "join", beside: Seq[SparkPlan] = Nil): Placement =
    Placement(
      FilterRequest(scan, Nil, None, FilterTarget(scan, Nil, Nil, wholeGroups = false, beside = beside)),
      FilterLabel("id", joinId, "table", Nil, "why")(),
      passRate
    )
}
