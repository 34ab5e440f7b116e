package io.aqeplugin.e2e

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.scalatest.funsuite.AnyFunSuite

/** Several joins whose keys reach the same scan. */
class FiltersOfOneScanSuite extends AnyFunSuite with PluginSession {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id % 90 AS k, id % 130 AS v, id AS n FROM range(30000)", files = 2)
    table("dim", "SELECT id AS dk, id % 9 AS name FROM range(90)")
    table("other", "SELECT id AS ok, id % 13 AS name FROM range(130)")
  }

  test("a join is priced with what the rows that it leaves spare the scans that they filter") {
    table("orders", "SELECT id % 3000 AS o, id % 90 AS k, id % 130 AS v FROM range(30000)", files = 2)
    table("lines", "SELECT id % 6000 AS lo, id AS n FROM range(60000)", files = 2)
    val ran = withConf("spark.sql.autoBroadcastJoinThreshold" -> "10k") {
      sameRows(
        spark.sql("SELECT count(*), sum(v) FROM orders LEFT SEMI JOIN lines ON o = lo JOIN (SELECT * FROM dim WHERE name = 3) ON k = dk")
      )
    }
    val sources = for {
      decision <- ran.decided.map(_.decision) if decision.path("facts").path("joinId").asText.contains("k=dk")
      step <- decision.path("facts").path("probe").path("path").elements.asScala if step.path("work").asText == "filter_source"
    } yield Seq("rows", "keys", "probeRows").map(step.path(_).asLong)
    // Estimates from the bytes of small files.
    assert(sources.size == 1 && sources.head.forall(_ > 10000) && sources.head.last > 2 * sources.head.head, s"$sources ${ran.plan}")
  }

  test("a join is priced by the rows that more selective filters of decided joins leave, whatever was expected of undecided ones") {
    val ran = sameRows(
      spark.sql(
        "SELECT n, k, v FROM fact JOIN (SELECT * FROM dim WHERE name = 3) ON k = dk JOIN (SELECT * FROM other WHERE name = 4) ON v = ok"
      )
    )
    def scanRows(decision: JsonNode): Long = decision.path("facts").path("probe").path("scanRows").asLong
    ran.decided.map(_.decision).filter(_.path("buildFilter").asBoolean).sortBy(_.path("passRate").asDouble) match {
      case Seq(best, other) =>
        // Whichever build side finishes first is decided first.
        assert(best.path("passRate").asDouble < 0.1 && scanRows(best) >= 20000, best)
        assert(Set(scanRows(best), (scanRows(best) * best.path("passRate").asDouble).toLong)(scanRows(other)), other)
      case other => fail(s"$other")
    }
  }
}
