package io.aqeplugin.regression

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.{PluginSession, Ran}

/** A broadcast contains the output of the operators above a finished stage. Its memory was estimated from the row width of the stage below
  * them, so a string column computed by a final aggregate made the driver run out of memory.
  */
class BroadcastWidthSuite extends AnyFunSuite with PluginSession {

  // No filters, and shuffles so expensive that a broadcast always pays.
  private val BroadcastPays = Seq(
    "spark.sql.autoBroadcastJoinThreshold" -> "1",
    "spark.aqePlugin.filter.minProbeRows" -> "1000000000",
    "spark.aqePlugin.cost.shuffleNanosPerRow" -> "100000",
    "spark.aqePlugin.broadcast.maxMemoryBytes" -> "4m"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id * 3 AS k, id AS v FROM range(100000)", files = 2)
    table("returns", "SELECT id AS k, id % 100 AS amount, repeat(CAST(id AS string), 2) AS note FROM range(2000)")
    table("long_notes", "SELECT id AS k, repeat('x', 4000) AS note FROM range(2000)")
  }

  private def sumOver(build: String): String = s"SELECT count(*), sum(length(s)), sum(v) FROM fact f JOIN ($build) d ON f.k = d.k"

  private def runs(build: String, conf: (String, String)*): Ran = withConf(BroadcastPays ++ conf: _*) {
    val query = sumOver(build)
    val result = ran(spark.sql(query))
    assert(result.rows == withoutPlugin(spark.sql(query)))
    result
  }

  private def broadcasts(ran: Ran): Int = collect(ran.plan) { case join: BroadcastHashJoinExec => join }.size

  private def codes(ran: Ran): Set[String] = ran.decided.flatMap(_.decision.findValuesAsText("code").asScala).toSet

  test("strings computed by an aggregate above the stage are not broadcast") {
    val result = runs("SELECT k, repeat(max(CAST(amount AS string)), 900) AS s FROM returns GROUP BY k")
    assert(broadcasts(result) == 0)
    assert(codes(result).contains("BROADCAST_WIDTH"), result.decided)
    val reason = result.decided.flatMap(_.decision.path("options").elements().asScala).map(_.path("reason"))
      .find(_.path("code").asText == "BROADCAST_WIDTH")
    assert(reason.map(r => (r.path("measured").asDouble, r.path("limit").asDouble, r.path("unit").asText)).contains((1.0, 0.0, "columns")))
    assert(reason.map(_.path("confKey").asText).contains("spark.sql.autoBroadcastJoinThreshold"))
  }

  test("a broadcast within Spark's threshold stays, and AQE's threshold is named if set") {
    val query = "SELECT k, repeat(max(CAST(amount AS string)), 9) AS s FROM returns GROUP BY k"
    val large = runs(query, "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "10m")
    assert(broadcasts(large) == 1)
    val small = runs(query, "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "2")
    assert(broadcasts(small) == 0)
    val keys = small.decided.flatMap(_.decision.findParents("code").asScala).filter(_.path("code").asText == "BROADCAST_WIDTH")
    assert(keys.map(_.path("confKey").asText).toSet == Set("spark.sql.adaptive.autoBroadcastJoinThreshold"))
  }

  test("numbers computed by an aggregate above the stage are broadcast") {
    assert(broadcasts(runs("SELECT k, sum(amount) AS s FROM returns GROUP BY k")) == 1)
  }

  test("strings copied from the stage have its measured width and may be broadcast") {
    assert(broadcasts(runs("SELECT k, max(note) AS s FROM returns GROUP BY k")) == 1)
    val long = runs("SELECT k, max(note) AS s FROM long_notes GROUP BY k")
    assert(broadcasts(long) == 0)
    assert(codes(long).contains("BROADCAST_MEMORY"), long.decided)
  }

  test("no probe side waits for a broadcast that would be refused") {
    val result = runs("SELECT k, repeat(max(CAST(amount AS string)), 900) AS s FROM returns GROUP BY k")
    assert(result.decided.forall(!_.decision.path("facts").path("waiting").path("waits").asBoolean), result.decided)
  }
}
