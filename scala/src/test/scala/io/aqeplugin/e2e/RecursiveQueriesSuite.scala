package io.aqeplugin.e2e

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.tell.JoinDecided

/** Spark plans every step of a recursive query anew, as part of the same query. */
class RecursiveQueriesSuite extends AnyFunSuite with PluginSession {

  test("the joins of a recursive query, which have other rows in each step, are only observed") {
    assume(spark.version >= "4.1", "Spark 4.0 has no recursive queries")
    table("seed", "SELECT CAST(id AS int) AS node FROM range(3)")
    table("edges", "SELECT CAST(id AS int) AS src, CAST(id * 2 + 1 AS int) AS dst FROM range(200)", files = 2)
    val reached =
      "WITH RECURSIVE r(node) AS (SELECT node FROM seed UNION ALL SELECT e.dst FROM r JOIN edges e ON r.node = e.src) SELECT node FROM r"
    // Whether the recursion runs in the query itself or where the query loads a cached table.
    for (isCached <- Seq(false, true)) withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val nodes = spark.sql(reached)
      if (isCached) nodes.persist()
      nodes.createOrReplaceTempView("nodes")
      val query = "SELECT n.node, e.dst FROM nodes n JOIN edges e ON n.node = e.src"
      val mark = events.mark()
      val frame = spark.sql(query)
      val rows = withConf("spark.aqePlugin.test.openGates" -> "true")(multiset(frame))
      drain()
      // A step that Spark collects is a query of its own, and comes later.
      val modes = events.since(mark).collect { case decided: JoinDecided => decided.executionId -> decided.mode }
      assert(modes.groupMap(_._1)(_._2).minBy(_._1)._2.toSet == Set("observe") && filters(frame.queryExecution.executedPlan).isEmpty)
      nodes.unpersist(blocking = true)
      assert(withoutPlugin(spark.sql(query)) == rows && rows.size > 10)
    }
  }
}
