package io.aqeplugin.e2e

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.SimpleMode
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.AqePlugin

/** Joins that Apache DataFusion Comet carries out. */
abstract class CometSuite(plugins: String*) extends AnyFunSuite with PluginSession {
  import CometSuite._

  override protected def applicationConf: Map[String, String] = Map(
    "spark.plugins" -> plugins.mkString(","),
    "spark.shuffle.manager" -> "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
    "spark.memory.offHeap.enabled" -> "true",
    "spark.memory.offHeap.size" -> "512m",
    "spark.sql.autoBroadcastJoinThreshold" -> "-1"
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id % 900 AS k, id AS v FROM range(20000)", files = 2)
    table("dim", "SELECT id * 9 AS dk, id % 7 AS kind FROM range(200)")
    spark.range(2000).selectExpr("id AS x", "id % 20 AS p").write.partitionBy("p").parquet(folder.resolve("parts").toString)
    spark.read.parquet(folder.resolve("parts").toString).createOrReplaceTempView("parts")
    table("text", "SELECT id * 3 AS tk, 'n' || id AS name FROM range(300)", format = "csv")
  }

  private def operators(frame: DataFrame): Seq[String] =
    collectWithSubqueries(frame.queryExecution.executedPlan) { case node => node.getClass.getName }

  private def plans(query: String): Seq[Seq[String]] = Seq("off", "apply").map { mode =>
    withConf("spark.aqePlugin.mode" -> mode, "spark.aqePlugin.test.openGates" -> "true") {
      val frame = spark.sql(query)
      val _ = frame.collect()
      operators(frame)
    }
  }

  private val Queries = Seq(
    "a join of two shuffles" -> "SELECT v, kind FROM fact JOIN dim ON k = dk WHERE kind < 3",
    "a broadcast join" -> "SELECT /*+ BROADCAST(dim) */ v, kind FROM fact JOIN dim ON k = dk WHERE kind < 3",
    "a hashed join below an aggregate" ->
      "SELECT /*+ SHUFFLE_HASH(dim) */ kind, count(v) FROM fact JOIN dim ON k = dk WHERE kind < 3 GROUP BY kind",
    "an outer, a semi and an anti join" ->
      """SELECT * FROM fact LEFT JOIN dim ON k = dk AND kind < 3
        |WHERE k IN (SELECT tk FROM text) AND v NOT IN (SELECT dk FROM dim WHERE dk IS NOT NULL)""".stripMargin,
    "a join with a table that Comet does not read" -> "SELECT v, name FROM fact JOIN text ON k = tk WHERE name < 'n2'",
    "a join of two tables that Comet does not read" -> "SELECT a.name FROM text a JOIN text b ON a.tk = b.tk WHERE b.name < 'n2'",
    "a join by a range" -> "SELECT count(*) FROM fact JOIN dim ON v BETWEEN dk AND dk + 3 WHERE kind < 3",
    "a partition column that Spark prunes dynamically" ->
      "SELECT /*+ BROADCAST(dim) */ x FROM parts JOIN dim ON p = dk WHERE kind = 3 UNION ALL SELECT v FROM fact WHERE k = (SELECT max(dk) FROM dim)",
    "a limit" -> "SELECT v FROM fact WHERE k < 5 LIMIT 3"
  )

  for ((what, query) <- Queries)
    test(s"$what has the rows and the plan that it has without the plugin") {
      val _ = sameRows(spark.sql(query))
      val Seq(alone, beside) = plans(query): @unchecked
      assert(alone.exists(_.startsWith(Comet)), alone)
      assert(beside == alone)
    }

  test("the reason names Comet's operator, in the event and in EXPLAIN") {
    val result = sameRows(spark.sql(Queries.head._2))
    val reasons = result.decided.map(_.decision.get("reason"))
    assert(reasons.map(_.get("code").textValue) == Seq("FOREIGN_NODE"), result.events)
    assert(reasons.head.get("subject").textValue.startsWith(Comet), reasons)
    val text = spark.sql(Queries.head._2).queryExecution.explainString(SimpleMode)
    assert(text.contains(s"FOREIGN_NODE: $Comet"), text)
  }

  test("a session without Comet has its filters") {
    withConf("spark.comet.enabled" -> "false") {
      val result = sameRows(spark.sql(Queries.head._2))
      assert(filtered(result) == Seq("parquet-fact(k)"), result.plan)
      assert(outcomes(result).exists(one => one.get("rowsOut").asLong < one.get("rowsIn").asLong), result.ended)
    }
  }
}

object CometSuite {
  private val Comet = "org.apache.spark.sql.comet."
  private[e2e] val Plugin = "org.apache.spark.CometPlugin"
}

class CometBehindSuite extends CometSuite(classOf[AqePlugin].getName, CometSuite.Plugin)

class CometBeforeSuite extends CometSuite(CometSuite.Plugin, classOf[AqePlugin].getName)
