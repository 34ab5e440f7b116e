package io.aqeplugin.e2e

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** A scan that Spark runs once for several uses runs once more for a use whose filter is worth it, as TPC-DS q4, q11 and q74 need it: each
  * compares the sales of one year in one channel with those of other years and channels, by customer, and reads the customers once for all.
  */
class RepeatedScansSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] =
    Map("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.aqePlugin.filter.maxRepeatedBytes" -> "1g")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("person", "SELECT id AS sk, concat('p', id) AS name FROM range(900)", files = 2)
    table("few", "SELECT id FROM range(2)")
    table("shop", "SELECT id % 900 AS person, id div 900 % 8 AS day, id % 7 AS amount FROM range(72000)", files = 3)
    table("web", "SELECT id % 180 * 5 AS person, id div 180 % 8 AS day, id % 5 AS amount FROM range(14400)", files = 2)
  }

  private val Compared =
    """WITH
      |  by_shop AS (SELECT name, 2000 + day % 4 AS year, count(amount) AS sales FROM person JOIN shop ON sk = person GROUP BY name, 2000 + day % 4),
      |  by_web AS (SELECT name, 2000 + day % 4 AS year, count(amount) AS sales FROM person JOIN web ON sk = person GROUP BY name, 2000 + day % 4)
      |SELECT s1.name, s1.sales, s2.sales, w1.sales, w2.sales
      |FROM by_shop s1 JOIN by_shop s2 ON s1.name = s2.name JOIN by_web w1 ON s1.name = w1.name JOIN by_web w2 ON s1.name = w2.name
      |WHERE s1.year = 2001 AND s2.year = 2002 AND w1.year = 2001 AND w2.year = 2002""".stripMargin

  test("the persons of one channel and year filter the shared scan of all persons, and through it the sales of other uses") {
    val result = sameRows(spark.sql(Compared))
    assert(result.rows.nonEmpty && Seq("parquet-person(name)", "parquet-shop(person)").forall(filtered(result).contains), result.plan)
  }

  test("a filter that makes a scan run once more says what that costs") {
    val result = sameRows(spark.sql(
      """SELECT name, count(amount) FROM person JOIN shop ON sk = person GROUP BY name
        |UNION ALL SELECT name, count(amount) FROM person JOIN web ON sk = person WHERE day = 3 GROUP BY name""".stripMargin
    ))
    val steps = result.decided.flatMap(_.decision.path("facts").path("probe").path("path").elements().asScala)
    val repeats = steps.filter(_.path("work").asText == "repeat")
    assert(repeats.nonEmpty && repeats.forall(_.path("scanBytes").asLong > 0), result.decided)
  }

  test("a scan that a query and its subquery share runs once more where a filter of one of them is worth it") {
    val totals = "SELECT name, v.amount AS amount, day FROM person JOIN shop v ON sk = person"
    val result = sameRows(spark.sql(
      s"""WITH totals AS ($totals)
         |SELECT count(*) FROM totals JOIN (SELECT id AS d FROM few) f ON day = d
         |WHERE amount > (SELECT avg(amount) FROM totals)""".stripMargin
    ))
    assert(filtered(result).contains("parquet-shop(day)"), result.plan)
  }

  test("rows that are not those of files are not made once more, as they may be others then") {
    val dice = spark.range(900).rdd.map(id => (id.toLong, Random.nextLong()))
    spark.createDataFrame(dice).toDF("k", "roll").createOrReplaceTempView("rolled")
    val query =
      """SELECT count(*) FROM (SELECT k, roll FROM rolled JOIN shop ON k = person) x
        |JOIN (SELECT k, roll FROM rolled JOIN web ON k = person WHERE day = 3) y ON x.k = y.k AND x.roll = y.roll""".stripMargin
    assert(!filtered(sameRows(spark.sql(query))).exists(_.endsWith("(k)")))
  }

  test("nothing runs once more where a filter may not repeat any bytes") {
    withConf("spark.aqePlugin.filter.maxRepeatedBytes" -> "0") {
      val result = sameRows(spark.sql(Compared))
      assert(!filtered(result).contains("parquet-person(name)"), result.plan)
      assert(result.decided.exists(_.decision.path("filterReason").path("code").asText == "REUSED_EXCHANGE"), result.decided)
    }
  }
}
