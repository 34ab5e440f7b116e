package io.aqeplugin.rules

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** A scan carries only so many filters, and the decision whose filter is one too many says so. */
class FiltersPerScanSuite extends AnyFunSuite with PluginSession {

  test("the more selective of two filters stays when a scan may have one, and the other is told as left out") {
    table("sold", "SELECT id % 100 AS a, id % 90 AS b, id AS v FROM range(3000)", files = 2)
    table("few", "SELECT id AS k FROM range(100) WHERE id < 3")
    table("many", "SELECT id AS k FROM range(90) WHERE id < 60")
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.aqePlugin.filter.maxPerScan" -> "1") {
      val result = sameRows(spark.sql("SELECT v FROM sold LEFT SEMI JOIN few ON a = few.k LEFT SEMI JOIN many ON b = many.k"))
      assert(filtered(result).size == 1)
      val told =
        result.decided.flatMap(_.filters.elements().asScala).map(f => f.path("applied").asBoolean -> f.path("reason").path("code").asText)
      assert(told.toSet == Set(true -> "FILTER_PAYS", false -> "MAX_FILTERS_PER_SCAN"))
    }
  }
}
