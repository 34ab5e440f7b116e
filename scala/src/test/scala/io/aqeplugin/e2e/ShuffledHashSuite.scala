package io.aqeplugin.e2e

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, ShuffledHashJoinExec, SortMergeJoinExec}
import org.scalatest.funsuite.AnyFunSuite

/** Joins that Spark would sort and the plugin hashes, where no probe side waits. */
class ShuffledHashSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map(
    "spark.aqePlugin.wait.maxIdle" -> "0",
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    "spark.sql.shuffle.partitions" -> "4"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("sold", "SELECT id % 3000 AS item, id % 7 AS v, CAST(id % 1000 AS string) AS note FROM range(400000)", files = 2)
    table("item", "SELECT id AS i, id % 5 AS kind FROM range(0, 4000, 2)")
    table("price", "SELECT id AS pi, id * 3 AS cents FROM range(0, 4000, 3)")
  }

  private def decisionOn(ran: Ran, key: String): JsonNode = ran.decided.map(_.decision)
    .find(_.path("facts").path("joinId").asText.contains(key)).getOrElse(fail(s"no decision on $key"))

  private def check(sql: String): Ran = {
    val rows = withoutPlugin(spark.sql(sql))
    val result = ran(spark.sql(sql))
    assert(result.rows == rows && rows.nonEmpty)
    result
  }

  private def count(result: Ran): (Int, Int, Int) = (
    collect(result.plan) { case join: BroadcastHashJoinExec => join }.size,
    collect(result.plan) { case join: ShuffledHashJoinExec => join }.size,
    collect(result.plan) { case join: SortMergeJoinExec => join }.size
  )

  for (kind <- Seq("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"))
    test(s"a large $kind whose probe side runs already is hashed, by the smaller side, not sorted") {
      val result = check(s"SELECT v, count(*), max(note) FROM sold $kind item ON item = i GROUP BY v")
      assert(count(result) == ((0, 1, 0)))
      val decision = decisionOn(result, "item=i")
      assert(decision.path("choice").asText == "shuffled_hash" && decision.path("reason").path("code").asText == "CHEAPEST")
      assert(decision.path("filterReason").path("code").asText != "FILTER_PAYS")
    }

  test("a full outer join is sorted") {
    val result = check("SELECT v, kind, count(*) FROM sold FULL JOIN item ON item = i GROUP BY v, kind")
    assert(count(result) == ((0, 0, 1)))
  }

  test("a build side that is large for a task is sorted, and the reason has the bytes") {
    withConf("spark.aqePlugin.shuffledHash.maxShare" -> "0.0001") {
      val result = check("SELECT v, count(*) FROM sold JOIN item ON item = i GROUP BY v")
      assert(count(result) == ((0, 0, 1)))
      val options = decisionOn(result, "item=i").path("options")
      val hashed = (0 until options.size).map(options.get).find(_.path("strategy").asText == "shuffled_hash").map(_.path("reason"))
      assert(hashed.exists(_.path("code").asText == "SHUFFLED_HASH_MEMORY"))
      assert(hashed.exists(reason => reason.path("measured").asDouble > reason.path("limit").asDouble))
    }
  }

  test("a join whose order the join above uses says so") {
    val result = check("SELECT v, count(*), max(cents) FROM sold JOIN item ON item = i JOIN price ON i = pi GROUP BY v")
    val used = result.decided.map(_.decision.path("facts")).map(facts => facts.path("joinId").asText -> facts.path("orderUsed").asBoolean)
    assert(used.toMap == Map("inner:item=i" -> true, "inner:i=pi" -> false))
  }

  test("an order is not used by a join whose other side Spark will broadcast") {
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "1", "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "1m") {
      val result = check("SELECT v, count(*), max(cents) FROM sold JOIN item ON item = i JOIN price ON i = pi GROUP BY v")
      assert(!decisionOn(result, "item=i").path("facts").path("orderUsed").asBoolean)
    }
  }

  test("where Spark broadcasts the probe side after all, it does") {
    withConf(
      "spark.sql.autoBroadcastJoinThreshold" -> "1",
      "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "20k",
      "spark.aqePlugin.broadcast.maxMemoryBytes" -> "1"
    ) {
      val result =
        check("SELECT i, kind, c FROM (SELECT item, count(*) AS c FROM sold WHERE note = '8' GROUP BY item) JOIN item ON item = i")
      assert(count(result)._1 == 1, result.plan)
    }
  }
}
