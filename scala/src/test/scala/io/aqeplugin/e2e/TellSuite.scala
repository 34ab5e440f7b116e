package io.aqeplugin.e2e

import org.apache.logging.log4j.Level
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.ExtendedMode
import org.apache.spark.sql.execution.FormattedMode
import org.apache.spark.sql.execution.ui.SQLAppStatusStore
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

import io.aqeplugin.tell.CapturedLog

/** Where users see a decision, besides events: the text of the plan, the driver's log, and the metrics of the plan's nodes. */
class TellSuite extends AnyFunSuite with PluginSession with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(timeout = Span(60, Seconds), interval = Span(1, Seconds))

  override protected def applicationConf: Map[String, String] = Map("spark.sql.autoBroadcastJoinThreshold" -> "-1")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 90 AS int) AS k, CAST(id % 13 AS int) AS v FROM range(300)", files = 2)
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, 'd' || id AS name FROM range(4)")
  }

  private val Query = "SELECT * FROM fact JOIN dim ON k = dk"
  private val OpenGates = "spark.aqePlugin.test.openGates" -> "true"

  test("EXPLAIN shows a waiting filter with its scan, columns and join") {
    withConf(OpenGates) {
      val text = spark.sql(s"EXPLAIN $Query").head().getString(0)
      assert("""RuntimeFilter \[parquet-fact\(k\) by inner:k=dk: waits for its build side\]""".r.findFirstIn(text).isDefined, text)
      assert("""RuntimeFilterExchange \[dim\.dk\], inner:k=dk""".r.findFirstIn(text).isDefined, text)
    }
  }

  test("EXPLAIN of the final plan shows the decision, its reason and the pass rate") {
    withConf(OpenGates) {
      val frame = spark.sql(Query)
      frame.collect()
      for (mode <- Seq(ExtendedMode, FormattedMode)) {
        val text = frame.queryExecution.explainString(mode)
        val said = """parquet-fact\(k\) by inner:k=dk: (\w+), (\w+), expected to pass \d+\.\d\d %""".r.findFirstMatchIn(text)
        assert(said.map(m => m.group(1) -> m.group(2)).contains("filtered_sort_merge" -> "GATES_OPEN"), text)
      }
    }
  }

  test("the driver's log has one line per join with choice, reasons and measurements") {
    withConf(OpenGates) {
      val (lines, result) =
        CapturedLog.during(Level.INFO)(ran(spark.sql(s"$Query JOIN (SELECT ov, dv FROM VALUES (1, 2) AS t(ov, dv)) ON v = ov")))
      val query = result.ended.map(_.executionId).head
      val decisions = lines.filter(_.startsWith(s"query $query, join "))
      assert(decisions.size == result.decided.size && decisions.size == 2, lines)
      val number = """-?[\d,]+(\.\d+)?( [kMG])?"""
      val line = s"""query \\d+, join inner:[^ ]+: \\w+ \\([^)]+\\); filter (yes|no) \\([^)]+\\); """ +
        s"""build (left|right) $number rows( of $number \\(\\w+\\))?, $number ([KMG]i)?B in memory, """ +
        s"""probe $number rows \\(\\w+\\), pass rate $number % \\(\\w+\\)"""
      decisions.foreach(said => assert(said.matches(line), said))
      assert(
        decisions.exists(said =>
          said.contains("inner:k=dk") && said.contains("filter yes (GATES_OPEN") && said.contains(" 4 rows of 4 (scan_output), ")
        ),
        decisions
      )
    }
  }

  test("the nodes of the plan have the plugin's metrics with real values") {
    val result = withPlugin(spark.sql(Query))
    val query = result.ended.map(_.executionId).head
    eventually {
      val byNode = metricsOf(query)
      val filter = byNode.getOrElse("RuntimeFilter", fail(s"no such node among ${byNode.keys}"))
      assert(filter("rows before runtime filters") == "300" && filter("rows checked") == "300")
      assert(filter("rows after runtime filters") == "16" && filter("rows passed") == "16")
      assert(filter("rows not checked") == "0")
      val exchange = byNode.getOrElse("RuntimeFilterExchange", fail(s"no such node among ${byNode.keys}"))
      assert(exchange("build rows with a key") == "4")
      assert(exchange("filter size").endsWith("B") && exchange("filter size") != "0.0 B")
      assert(exchange.contains("time to build the filter"))
    }
  }

  /** The metrics of each node of a query's plan, by name, as the SQL page shows them. */
  private def metricsOf(executionId: Long): Map[String, Map[String, String]] = {
    val store = statusStore
    val values = store.executionMetrics(executionId)
    store.planGraph(executionId).allNodes.map { node =>
      node.name -> node.metrics.flatMap(metric => values.get(metric.accumulatorId).map(metric.name -> _)).toMap
    }.filter(_._2.nonEmpty).toMap
  }

  private def statusStore: SQLAppStatusStore = spark match {
    case session: classic.SparkSession => session.sharedState.statusStore
    case other                         => fail(s"no classic session: $other")
  }
}
