package io.aqeplugin.regression

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** The rows of a broadcast are collected on the driver. A build side that fitted `broadcast.maxMemoryBytes` and not `spark.driver.maxResultSize` was
  * broadcast instead of sorted, and the query failed.
  */
class ResultSizeSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map("spark.driver.maxResultSize" -> "1m")

  test("a build side larger than the driver takes as a result is not broadcast") {
    table("wide_fact", "SELECT id * 3 AS k, id AS v, repeat(uuid(), 2) AS w FROM range(300000)", files = 2)
    table("wide_dim", "SELECT id AS k, repeat(uuid(), 3) AS u FROM range(60000)", files = 2)
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "1") {
      val result = sameRows(spark.sql(
        "SELECT count(*), sum(f.v), max(d.u), max(f.w) FROM wide_fact f JOIN wide_dim d ON f.k = d.k WHERE length(d.u) > 5"
      ))
      assert(filtered(result).nonEmpty)
    }
  }
}
