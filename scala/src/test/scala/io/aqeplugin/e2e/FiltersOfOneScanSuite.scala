package io.aqeplugin.e2e

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

  test("a join is priced by the rows that the filters of decided joins leave, whatever was expected of undecided ones") {
    val ran = sameRows(
      spark.sql(
        "SELECT n, k, v FROM fact JOIN (SELECT * FROM dim WHERE name = 3) ON k = dk JOIN (SELECT * FROM other WHERE name = 4) ON v = ok"
      )
    )
    def scanRows(decision: JsonNode): Long = decision.path("facts").path("probe").path("scanRows").asLong
    ran.decided.map(_.decision).filter(_.path("buildFilter").asBoolean).sortBy(-scanRows(_)) match {
      case Seq(first, second) =>
        assert(first.path("passRate").asDouble < 0.2 && scanRows(first) >= 20000, first)
        assert(scanRows(second) == (scanRows(first) * first.path("passRate").asDouble).toLong, second)
      case other => fail(s"$other")
    }
  }
}
