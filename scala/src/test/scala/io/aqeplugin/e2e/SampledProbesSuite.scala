package io.aqeplugin.e2e

import java.nio.file.{Files, StandardOpenOption}

import com.fasterxml.jackson.databind.JsonNode
import org.scalatest.funsuite.AnyFunSuite

/** Probe sides whose keys have not all the same number of rows: a sample of their rows says what share of them passes. */
class SampledProbesSuite extends AnyFunSuite with PluginSession {
  private val Rows = 600000

  override protected def applicationConf: Map[String, String] = Map(
    "spark.aqePlugin.sample.minRows" -> "100000",
    // Several row groups a file, and none that are left out by their values.
    "spark.hadoop.parquet.block.size" -> (1 << 20).toString,
    "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1"
  )

  /** Half of the visits are of user 0; the others are evenly spread. The pair of columns has no more values than the first. */
  private val Visits =
    s"""SELECT id, CASE WHEN rand(1) < 0.5 THEN 0L ELSE CAST(1 + rand(2) * 100000 AS BIGINT) END AS user_id,
       |  CAST(rand(5) * 400 AS INT) AS region, rand(3) AS a, rand(4) AS b FROM range($Rows)""".stripMargin

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val visits =
      s"SELECT *, CONCAT('user-', user_id) AS code, CAST(region DIV 20 AS INT) AS country, IF(id % 4 = 0, null, user_id) AS known FROM ($Visits)"
    Seq("parquet", "orc").foreach(format => table(s"${format}_visits", visits, format, files = 6))
    withConf("spark.aqePlugin.mode" -> "off") {
      val path = folder.resolve("ordered").toString
      spark.sql(visits).repartition(6).sortWithinPartitions("user_id").write.parquet(path)
      spark.read.parquet(path).createOrReplaceTempView("visits_in_order")
    }
    withConf("spark.aqePlugin.mode" -> "off")(
      spark.sql(
        s"CREATE TABLE daily_visits USING parquet PARTITIONED BY (day) AS SELECT /*+ REPARTITION(6) */ *, CAST(id % 3 AS INT) AS day FROM ($visits)"
      )
    )
    table("users", "SELECT id AS user_id, CONCAT('user-', id) AS code, id % 1000 AS cohort FROM range(100001)")
    table("regions", "SELECT CAST(id AS INT) AS region, CAST(id DIV 20 AS INT) AS country, id % 5 AS zone FROM range(400)")
  }

  private def probe(query: String): (JsonNode, Double) = {
    // The first query may not wait for the sample long enough.
    val _ = withPlugin(spark.sql(query))
    val ran = sameRows(spark.sql(query))
    assert(ran.decided.size == 1, ran.plan)
    val decision = ran.decided.head.decision
    (decision.path("facts").path("probe").path("sample"), decision.path("passRate").asDouble)
  }

  private def share(condition: String, build: String, predicate: String): Double = withConf("spark.aqePlugin.mode" -> "off") {
    spark.sql(
      s"SELECT count(*) FROM parquet_visits v LEFT SEMI JOIN (SELECT * FROM $build WHERE $predicate) p ON $condition"
    ).head().getLong(0)
  }.toDouble / Rows

  for (table <- Seq("parquet_visits", "daily_visits", "visits_in_order"))
    test(s"of $table, the pass rate of a heavy key is that of its rows") {
      val (sample, rate) = probe(s"SELECT count(*), sum(a) FROM $table v JOIN users u ON v.user_id = u.user_id WHERE u.cohort = 0")
      // Of rows in order, few blocks tell less.
      val off = if (table == "visits_in_order") 0.45 else 0.05
      assert(math.abs(rate - 0.5) < off && sample.path("rows").asLong >= 2048, (sample, rate))
    }

  test("the pass rate without the heavy key is half of the share of the keys") {
    val (sample, rate) =
      probe("SELECT count(*), sum(a) FROM parquet_visits v JOIN users u ON v.user_id = u.user_id WHERE u.user_id > 0 AND u.cohort < 200")
    assert(math.abs(rate - 0.1) < 0.03, (sample, rate))
  }

  test("strings are sampled as texts, and computed keys as their values") {
    val (strings, ofStrings) = probe("SELECT count(*), sum(a) FROM parquet_visits v JOIN users u ON v.code = u.code WHERE u.cohort = 0")
    assert(math.abs(ofStrings - 0.5) < 0.05, strings)
    val (computed, ofComputed) =
      probe(
        "SELECT count(*), sum(a) FROM parquet_visits v JOIN users u ON CAST(v.region AS BIGINT) = u.user_id WHERE u.user_id < 40 AND u.cohort < 1000"
      )
    assert(math.abs(ofComputed - 0.1) < 0.03, computed)
  }

  test("rows in the order of their keys refute no good estimate") {
    val (sample, rate) =
      probe("SELECT count(*), sum(a) FROM visits_in_order v JOIN users u ON v.user_id = u.user_id WHERE u.user_id BETWEEN 40000 AND 60000")
    assert(sample.path("independentRows").asDouble < 200 && rate > 0.04 && rate < 0.4, (sample, rate))
  }

  test("keys of several columns are looked up in a broadcast by the types of its keys") {
    for ((left, right) <- Seq("INT" -> "INT", "INT" -> "BIGINT")) {
      table("pairs", s"SELECT CAST(id DIV 20 AS $left) AS country, CAST(id % 400 AS $right) AS region, id FROM range(8000)")
      val query =
        "SELECT count(*), sum(a) FROM parquet_visits v JOIN pairs p ON v.country = p.country AND v.region = p.region WHERE p.id % 2 = 0"
      // Too many to be kept one by one.
      val (sample, rate) = withConf("spark.aqePlugin.sketch.maxKeys" -> "1000")(probe(query))
      val exact = share("v.country = p.country AND v.region = p.region", "pairs p", "p.id % 2 = 0")
      val sampled = sample.path("matches").asDouble / sample.path("rows").asDouble
      assert(math.abs(sampled - exact) < 0.03 && exact > 0.1, (left, right, sample, rate, exact))
    }
  }

  test("columns that depend on each other pass as often as their rows do") {
    val (sample, rate) = probe(
      """SELECT count(*), sum(a) FROM parquet_visits v JOIN regions r ON v.region = r.region AND v.country = r.country
        |WHERE r.zone = 3 AND r.country < 10""".stripMargin
    )
    assert(math.abs(rate - 0.1) < 0.03, (sample, rate))
  }

  test("nulls of the probe side pass no filter") {
    val (sample, rate) = probe("SELECT count(*), sum(a) FROM parquet_visits v JOIN users u ON v.known = u.user_id WHERE u.cohort = 0")
    assert(math.abs(rate - 0.375) < 0.05, (sample, rate))
  }

  test("a scan of ORC files or of fewer rows than the conf says, a partition column and build keys that are not kept have no sample") {
    val query = "SELECT count(*), sum(a) FROM parquet_visits v JOIN users u ON v.user_id = u.user_id WHERE u.cohort = 0"
    assert(probe(query.replace("parquet", "orc"))._1.isNull)
    withConf("spark.aqePlugin.sample.minRows" -> "1000000000")(assert(probe(query)._1.isNull))
    withConf("spark.aqePlugin.sketch.maxKeys" -> "0")(assert(probe(query)._1.isNull))
    assert(probe("SELECT count(*), sum(a) FROM daily_visits v JOIN users u ON v.day = u.user_id WHERE u.cohort = 0")._1.isNull)
  }

  test("a file that cannot be read leaves the estimate without a sample, and the query's own error stays") {
    table("broken", Visits, files = 6)
    val path = dataFiles(folder.resolve("parquet-broken")).head
    val bytes = Files.readAllBytes(path)
    // The pages, and not the footer.
    Files.write(path, Array.fill[Byte](bytes.length / 2)(7) ++ bytes.drop(bytes.length / 2), StandardOpenOption.TRUNCATE_EXISTING)
    val error = intercept[Exception](
      spark.sql("SELECT count(*), sum(a) FROM broken v JOIN users u ON v.user_id = u.user_id WHERE u.cohort = 0").collect()
    )
    assert(error.getMessage.contains("part-") || Option(error.getCause).exists(_.getMessage.contains("part-")), error)
  }
}
