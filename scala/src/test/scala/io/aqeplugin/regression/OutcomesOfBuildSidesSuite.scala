package io.aqeplugin.regression

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** AQE finds a build side first below the filter that is built from it, and then in its join as a reused exchange. The query's outcomes
  * lacked the filters on the scans of such a build side.
  */
class OutcomesOfBuildSidesSuite extends AnyFunSuite with PluginSession {

  test("filters inside a build side that is the source of a filter have outcomes") {
    table("sales", "SELECT id AS sold, id % 50 AS item FROM range(5000)")
    table("returned", "SELECT id * 7 AS back, id % 10 AS reason FROM range(700)")
    table("reasons", "SELECT id AS code, concat('r', id) AS name FROM range(10)")
    val query = "SELECT item, name FROM sales JOIN returned ON sold = back JOIN reasons ON reason = code WHERE name = 'r3'"
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val result = sameRows(spark.sql(query))
      val columns = result.ended.flatMap(_.outcomes.elements.asScala).flatMap(_.get("scanColumns").elements.asScala.map(_.textValue))
      assert(Set("back", "sold", "reason").intersect(columns.toSet).size >= 2, s"outcomes for $columns only in\n${result.plan}")
    }
  }

  test("a filter that was built for another scan is reported as used") {
    table("sold", "SELECT id AS item, id % 60 AS day FROM range(5000)")
    table("bought", "SELECT id AS item, id % 60 AS day FROM range(4000)")
    table("days", "SELECT id AS d, id % 10 AS month FROM range(60)")
    val half = (name: String) => s"SELECT month, count(*) AS n FROM $name JOIN days ON day = d WHERE month = 3 GROUP BY month"
    val result = sameRows(spark.sql(s"${half("sold")} UNION ALL ${half("bought")}"))
    val columns = outcomes(result).map(_.get("table").textValue).toSet
    assert(columns == Set("parquet-sold", "parquet-bought"))
    assert(result.decided.forall(_.decision.get("buildFilter").asBoolean))
  }

  test("a scan's wait is the time from the query's start until its filters were ready") {
    table("late_facts", "SELECT id AS item, id % 60 AS day FROM range(5000)")
    table("late_days", "SELECT id AS d, id % 10 AS month FROM range(60)")
    spark.udf.register("slowly", (month: Long) => { Thread.sleep(20L); month })
    val query = "SELECT item FROM late_facts JOIN late_days ON day = d WHERE slowly(month) = 3"
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val result = withPlugin(spark.sql(query))
      val waits = outcomes(result).map(_.get("waitMillis").asLong)
      // Sixty rows at 20 ms.
      assert(waits.nonEmpty && waits.forall(_ >= 1200L), waits)
      assert(filters(result.plan).map(_.metrics("waitTime").value).forall(waits.contains))
    }
  }
}
