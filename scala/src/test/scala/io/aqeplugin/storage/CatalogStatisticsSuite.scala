package io.aqeplugin.storage

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.execution.FileSourceScanExec
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.{EstimateSource, RowEstimate}
import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.observe.TableFacts

/** What ANALYZE TABLE says of tables too small for their footers to be read. */
class CatalogStatisticsSuite extends AnyFunSuite with PluginSession {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    withConf("spark.aqePlugin.mode" -> "off") {
      create("facts", "SELECT id, id % 3000 AS k, CAST(id % 7 AS double) AS price FROM range(30000)")
      create("days", "SELECT CAST(id AS int) AS d, DATE'2026-01-01' + CAST(id AS int) AS day, 'd' || id AS name FROM range(1000)")
      Seq("facts", "days").foreach(table => spark.sql(s"ANALYZE TABLE $table COMPUTE STATISTICS FOR ALL COLUMNS"))
      create("unknown", "SELECT id AS k FROM range(10)")
    }
  }

  test("the range of an analyzed timestamp is that of its values, in any time zone of a session") {
    withConf("spark.aqePlugin.mode" -> "off", "spark.sql.session.timeZone" -> "America/Los_Angeles") {
      create("times", "SELECT TIMESTAMP'2026-03-01 00:00:00Z' + id * INTERVAL '1' HOUR AS at FROM range(10)")
      spark.sql("ANALYZE TABLE times COMPUTE STATISTICS FOR ALL COLUMNS")
    }
    withConf("spark.sql.session.timeZone" -> "Asia/Tokyo") {
      val first = 1772323200000000L
      assert(factsOf("SELECT at FROM times").exists(_.ranges.get("at").contains((first, first + 9 * 3600000000L))))
    }
  }

  private def create(table: String, query: String): Unit = { val _ = spark.sql(s"CREATE TABLE $table USING parquet AS $query") }

  private def factsOf(query: String): Option[TableFacts] = {
    val plan = withConf("spark.aqePlugin.mode" -> "off")(spark.sql(query).queryExecution.executedPlan)
    PartitionedTable.unpruned(collectFirst(plan) { case scan: FileSourceScanExec => scan }.getOrElse(fail("no file scan")))
      .flatMap(CatalogStatistics.of(_))
  }

  private def decided(query: String): JsonNode =
    sameRows(spark.sql(query)).decided.headOption.getOrElse(fail("no decision")).decision

  test("an analyzed table has rows, distinct values, and the ranges of its integer and date columns") {
    val days = factsOf("SELECT d + 1, day, name FROM days WHERE d > 5").getOrElse(fail("no facts"))
    assert(days.rows.contains(RowEstimate(1000, EstimateSource.Catalog)) && days.ranges == Map(
      "d" -> ((0L, 999L)),
      "day" -> ((20454L, 21453L))
    ))
    assert(Seq("d", "day", "name").forall(column => math.abs(days.distinct(column) - 1000) < 100), days.distinct)
  }

  test("a heavy key has a bucket of its own in the histogram, and the share of its rows is its pass rate") {
    withConf("spark.aqePlugin.mode" -> "off", "spark.sql.statistics.histogram.enabled" -> "true") {
      create("visits", "SELECT id, CAST(IF(id % 2 = 0, 700, id % 3000) AS int) AS k FROM range(60000)")
      spark.sql("ANALYZE TABLE visits COMPUTE STATISTICS FOR ALL COLUMNS")
    }
    val buckets = factsOf("SELECT k, id FROM visits").getOrElse(fail("no facts")).histograms("k")
    assert(buckets.size <= 64 && math.abs(buckets.map(_.rows).sum - 60000) < 300)
    assert(buckets.exists(bucket => bucket.low == 700 && bucket.high == 700 && math.abs(bucket.rows - 30000) < 2000), buckets)
    val decision = decided("SELECT f.id, d.name FROM visits f JOIN days d ON f.k = d.d WHERE d.name IN ('d700', 'd701')")
    assert(decision.path("passRateSource").asText == "key_distributions")
    assert(math.abs(decision.path("passRate").asDouble - 0.5) < 0.05, decision.path("passRate"))
  }

  test("a value with a twenty-fifth of the rows has a bucket of its own") {
    withConf("spark.aqePlugin.mode" -> "off", "spark.sql.statistics.histogram.enabled" -> "true") {
      create("clicks", "SELECT id, CAST(IF(id % 25 = 0, 700, id % 3000) AS int) AS k FROM range(60000)")
      spark.sql("ANALYZE TABLE clicks COMPUTE STATISTICS FOR ALL COLUMNS")
    }
    val buckets = factsOf("SELECT k, id FROM clicks").getOrElse(fail("no facts")).histograms("k")
    assert(buckets.size <= 64 && buckets.exists(bucket => bucket.low == 700 && bucket.high == 700), buckets)
  }

  private def probeKeys(query: String): JsonNode = decided(query).path("facts").path("probe").path("keys")

  test("a condition on the key takes its histogram away, as it may remove just the heavy keys") {
    def buckets(condition: String): Int =
      probeKeys(
        s"SELECT f.id, d.name FROM visits f JOIN days d ON f.k = d.d WHERE $condition AND d.name IN ('d700', 'd701')"
      ).path("histogram").size
    assert(buckets("f.id >= 0") > 0 && buckets("f.k <> 7") == 0)
  }

  test("the probe side's keys are those of all scans of a union, and of the first of scans that are joined") {
    def range(query: String): (Long, Long) = { val keys = probeKeys(query); (keys.path("min").asLong, keys.path("max").asLong) }
    val few = "days d ON f.k = d.d WHERE d.name LIKE 'd1%'"
    assert(range(s"SELECT f.id, d.name FROM (SELECT id, k FROM facts UNION ALL SELECT id, d AS k FROM days, range(30)) f JOIN $few") == ((
      0L,
      2999L
    )))
    assert(range(s"SELECT f.id, d.name FROM (SELECT x.id, y.d AS k FROM range(9) x JOIN days y ON x.id = y.d) f JOIN $few")._2 <= 999L)
  }

  test("a table that was not analyzed, and files in no catalog, have no facts") {
    assert(factsOf("SELECT * FROM unknown").forall(_.rows.isEmpty))
    table("loose", "SELECT id AS k FROM range(10)")
    assert(factsOf("SELECT * FROM loose").isEmpty)
  }

  test("with both sides analyzed, the pass rate is estimated from the keys of both") {
    val decision = decided("SELECT f.id, d.name FROM facts f JOIN days d ON f.k = d.d WHERE d.name LIKE 'd1%'")
    val (build, probe) = (decision.path("facts").path("build"), decision.path("facts").path("probe"))
    assert(math.abs(build.path("keys").path("originDistinct").asLong - 1000) < 100 && build.path("originRows").asLong == 1000)
    assert(math.abs(probe.path("keys").path("distinct").asLong - 3000) < 300)
    assert(decision.path("passRateSource").asText == "key_distributions")
    // 111 of 3,000 keys.
    assert(math.abs(decision.path("passRate").asDouble - 0.037) < 0.02, decision.path("passRate"))
  }
}
