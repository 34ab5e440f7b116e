package io.aqeplugin.e2e

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.CatalogStatistics
import org.apache.spark.sql.functions.udf
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.tell.ExplainSection

/** Joins that can save less than it costs to look at them. */
class QuickLookSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] =
    Map(AqeConf.CostLookNanosPerJoin.key -> AqeConf.CostLookNanosPerJoin.defaultText)

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    for (name <- Seq("one", "two", "three")) table(name, "SELECT id AS k, id % 5 AS v FROM range(100)")
    table("large", "SELECT id AS k, md5(string(id)) AS v FROM range(200000)")
  }

  private val Small = "SELECT count(*), sum(a.v) FROM one a JOIN two b ON a.k = b.k JOIN three c ON b.k = c.k WHERE c.v = 2"

  private def codes(ran: Ran): Seq[String] = ran.decided.map(_.decision.get("reason").get("code").textValue)

  /** Without the numbers that each plan has anew. */
  private def text(ran: Ran): String = ran.plan.toString.replaceAll("#\\d+L?|plan_id=\\d+", "")

  for (mode <- Seq("apply", "observe"); threshold <- Seq("10m", "-1"))
    test(s"joins of small tables keep Spark's plan, and the reason has what they read: mode $mode, broadcasts up to $threshold") {
      withConf("spark.aqePlugin.mode" -> mode, "spark.sql.autoBroadcastJoinThreshold" -> threshold) {
        val off = withConf("spark.aqePlugin.mode" -> "off")(ran(spark.sql(Small)))
        val on = ran(spark.sql(Small))
        assert(on.rows == off.rows && on.rows == Seq("[20, 40]"))
        assert(text(on) == text(off) && on.jobs == off.jobs)
        assert(codes(on) == Seq("NOT_WORTH_LOOKING", "NOT_WORTH_LOOKING"))
        on.decided.foreach { decided =>
          val look = decided.decision.get("facts").get("look")
          assert(look.get("joins").intValue == 2 && look.get("bytes").longValue > 0 && decided.mode == mode)
          assert(look.get("joinedRows").longValue > look.get("rows").longValue)
        }
      }
    }

  test("joins of larger tables are looked at") {
    val query = "SELECT count(*) FROM large a JOIN large b ON a.k = b.k WHERE b.v < '8'"
    assert(!codes(ran(spark.sql(query))).contains("NOT_WORTH_LOOKING"))
  }

  test("at a price of 0, all joins are looked at") {
    withConf(AqeConf.CostLookNanosPerJoin.key -> "0")(assert(!codes(ran(spark.sql(Small))).contains("NOT_WORTH_LOOKING")))
  }

  test("EXPLAIN looks at all joins; a query that has run says why they were not") {
    val explained = spark.sql(s"EXPLAIN FORMATTED $Small").head().getString(0)
    assert(explained.contains("aqe-plugin") && !explained.contains("NOT_WORTH_LOOKING"), explained)
    val frame = spark.sql(Small)
    val _ = frame.collect()
    val said = new ExplainSection().generateExtendedInfo(frame.queryExecution.executedPlan).linesIterator.toSeq
    assert(said.size == 1 && said.forall(_.startsWith("Spark's plan, 2 joins not looked at (NOT_WORTH_LOOKING: ")), said)
  }

  test("rows that become more, or may cost anything, have no bound") {
    val plusOne = udf((value: Long) => value + 1)
    spark.udf.register("plus_one", plusOne)
    val queries = Seq(
      "SELECT count(*) FROM (SELECT explode(sequence(1, 1000)) AS k FROM one) a JOIN two b ON a.k = b.k",
      "SELECT count(*) FROM (SELECT x.k FROM one x CROSS JOIN three y) a JOIN two b ON a.k = b.k",
      "SELECT count(*) FROM one a JOIN two b ON a.k = b.k WHERE plus_one(a.v) > 2"
    )
    queries.foreach(query => assert(!codes(ran(spark.sql(query))).contains("NOT_WORTH_LOOKING"), query))
  }

  test("of tables whose statistics are too small by a factor of a thousand, what waits for the first stage gets its filter") {
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql("CREATE TABLE lying_keys USING parquet PARTITIONED BY (p) AS SELECT id * 50 AS k, 1 AS p FROM range(20000)")
      spark.sql(
        "CREATE TABLE lying_facts USING parquet PARTITIONED BY (p) AS SELECT id AS k, md5(string(id)) AS v, 1 AS p FROM range(1000000)"
      )
    }
    val query = "SELECT count(*), max(f.v) FROM lying_facts f JOIN lying_keys d ON f.k = d.k"
    val off = withConf("spark.aqePlugin.mode" -> "off")(ran(spark.sql(query)))
    for ((table, rows) <- Seq("lying_keys" -> 100L, "lying_facts" -> 1000L))
      spark.sessionState.catalog.alterTableStats(TableIdentifier(table), Some(CatalogStatistics(rows * 8, Some(rows))))
    val on = withConf(AqeConf.CostJobLaunchNanos.key -> "0")(ran(spark.sql(query)))
    assert(on.rows == off.rows)
    assert(filtered(on).size == 1, s"${on.decided.map(_.decision)}\n${on.plan}")
    assert(outcomes(on).map(_.get("rowsOut").longValue).sum < 300000)
  }

  test("of a query without joins, nothing is recorded") {
    val alone = ran(spark.sql("SELECT v, count(*) FROM one GROUP BY v"))
    assert(alone.decided.isEmpty && alone.ended.isEmpty)
  }
}
