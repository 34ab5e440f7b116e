package io.aqeplugin.regression

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.{PluginSession, Ran}

/** The rows of a broadcast are collected on the driver. A build side within `broadcast.maxMemoryBytes` but above
  * `spark.driver.maxResultSize` was broadcast, and the query failed.
  */
class ResultSizeSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map("spark.driver.maxResultSize" -> "1m")

  test("a build side above the driver's maximum result size is not broadcast") {
    table("wide_fact", "SELECT id * 3 AS k, id AS v, repeat(uuid(), 2) AS w FROM range(300000)", files = 2)
    table("wide_dim", "SELECT id AS k, repeat(uuid(), 3) AS u FROM range(60000)", files = 2)
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "1") {
      val result = sameRows(spark.sql(
        "SELECT count(*), sum(f.v), max(d.u), max(f.w) FROM wide_fact f JOIN wide_dim d ON f.k = d.k WHERE length(d.u) > 5"
      ))
      assert(filtered(result).nonEmpty)
      assert(memoryKeys(result) == Set("spark.driver.maxResultSize"))
    }
  }

  test("Spark's limit applies to the relation, which is larger than its rows") {
    table("paged_fact", "SELECT id * 3 AS k, id AS v FROM range(300000)", files = 2)
    // About half a megabyte as rows, twice that in pages.
    table("paged_dim", "SELECT id AS k, repeat('x', 40) AS u FROM range(5000)", files = 2)
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "1", "spark.sql.maxBroadcastTableSize" -> "800k") {
      val result = sameRows(spark.sql(
        "SELECT count(*), sum(f.v), max(d.u) FROM paged_fact f JOIN paged_dim d ON f.k = d.k WHERE length(d.u) > 5"
      ))
      assert(memoryKeys(result) == Set("spark.sql.maxBroadcastTableSize"))
    }
  }

  test("a build whose parts together exceed the maximum result size succeeds") {
    table("long_fact", "SELECT 'key ' || id AS k FROM range(300000)", files = 2)
    table("long_dim", "SELECT 'key ' || (id * 2) AS k FROM range(200000)", files = 2)
    val conf = Seq("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.adaptive.coalescePartitions.enabled" -> "false")
    withConf(conf :+ ("spark.aqePlugin.filter.exactMaxKeys" -> "1000000"): _*) {
      val result = sameRows(spark.sql("SELECT count(*) FROM long_fact f JOIN long_dim d ON f.k = d.k"))
      assert(outcomes(result).forall(_.path("reason").path("code").asText != "BUILD_FAILED"), outcomes(result))
    }
  }

  /** The conf keys in the reasons for a build side that is too large. */
  private def memoryKeys(ran: Ran): Set[String] = {
    val reasons = ran.decided.flatMap(_.decision.findParents("code").asScala)
    reasons.filter(_.path("code").asText == "BROADCAST_MEMORY").map(_.path("confKey").asText).toSet
  }
}
