package io.aqeplugin.regression

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** A build side is met by AQE below the filter that is built from it before it is met in its join, where it then stands as a reused exchange.
  * Filters on the scans of such a build side were not among the outcomes of the query.
  */
class OutcomesOfBuildSidesSuite extends AnyFunSuite with PluginSession {

  test("filters on the scans of a build side that is itself the source of a filter have outcomes") {
    table("sales", "SELECT id AS sold, id % 50 AS item FROM range(5000)")
    table("returned", "SELECT id * 7 AS back, id % 10 AS reason FROM range(700)")
    table("reasons", "SELECT id AS code, concat('r', id) AS name FROM range(10)")
    val query = "SELECT item, name FROM sales JOIN returned ON sold = back JOIN reasons ON reason = code WHERE name = 'r3'"
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val result = sameRows(spark.sql(query))
      val columns = result.ended.flatMap(_.outcomes.elements.asScala).flatMap(_.get("scanColumns").elements.asScala.map(_.textValue))
      assert(Set("back", "sold", "reason").intersect(columns.toSet).size >= 2, s"outcomes for $columns only in\n${result.plan}")
    }
  }
}
