package io.aqeplugin.regression

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** Key sketches come to the driver with the results of tasks. Spark fails a task whose result is larger than the driver accepts. */
class SketchSizeSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map("spark.driver.maxResultSize" -> "512k")

  private val Query = "SELECT count(*) FROM sketched_fact f JOIN sketched_dim d ON f.k = d.k"

  test("the keys of a task do not make its result too large for the driver") {
    table("sketched_fact", "SELECT id * 3 AS k FROM range(200000)", files = 2)
    table("sketched_dim", "SELECT id * 2 AS k FROM range(90000)")
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1") {
      assert(filtered(sameRows(spark.sql(Query))).nonEmpty)
    }
  }
}
