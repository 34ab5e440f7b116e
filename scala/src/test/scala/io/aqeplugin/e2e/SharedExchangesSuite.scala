package io.aqeplugin.e2e

import java.util.concurrent.atomic.LongAdder

import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.scalatest.funsuite.AnyFunSuite

/** A part of a query that Spark runs once for several uses gets the filters that all of its uses request alike, and still runs once. */
class SharedExchangesSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map("spark.sql.autoBroadcastJoinThreshold" -> "-1")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("sold", "SELECT id AS ticket, id % 90 AS item, id % 20 AS day, id % 7 AS amount FROM range(4000)", files = 3)
    table("back", "SELECT id * 9 AS ticket, id % 11 AS reason FROM range(400)", files = 2)
    table("days", "SELECT id AS d, 2000 + id % 4 AS year FROM range(20)")
    table("items", "SELECT id AS i, concat('c', id % 10) AS color FROM range(90)")
    spark.sparkContext.addSparkListener(new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit = recordsRead.add(end.taskMetrics.inputMetrics.recordsRead)
    })
  }

  private val recordsRead = new LongAdder

  /** Runs `body`; returns the number of records that its tasks read from files too. */
  private def counted(body: => Ran): (Ran, Long) = {
    recordsRead.reset()
    val result = body
    drain()
    (result, recordsRead.sum)
  }

  /** The rows are the same, and no scan runs more often than without the plugin. */
  private def sharedAsBefore(query: String): Ran = {
    val (before, recordsBefore) = counted(withConf("spark.aqePlugin.mode" -> "off")(ran(spark.sql(query))))
    val (result, records) = counted(withPlugin(spark.sql(query)))
    assert(result.rows.nonEmpty && result.rows == before.rows, result.plan)
    assert(records > 0 && records <= recordsBefore, result.plan)
    result
  }

  /** Sales that came back, once for each of two years, as TPC-DS q64 compares them. */
  private val TwoYears =
    """WITH returned AS (
      |  SELECT sold.item, sold.amount, days.year FROM sold JOIN back ON sold.ticket = back.ticket JOIN days ON sold.day = days.d)
      |SELECT a.item, a.n, b.n FROM
      |  (SELECT item, count(amount) AS n FROM returned WHERE year = 2001 GROUP BY item) a
      |  JOIN (SELECT item, count(amount) AS n FROM returned WHERE year = 2003 GROUP BY item) b ON a.item = b.item""".stripMargin

  test("a filter that both uses of a scan request alike goes on the scan, which runs once") {
    val result = sharedAsBefore(TwoYears)
    assert(filtered(result).contains("parquet-sold(ticket)"), result.plan)
  }

  test("a filter that only one of two uses requests does not go on their scan") {
    val result = sharedAsBefore(TwoYears)
    assert(!filtered(result).contains("parquet-sold(day)"), result.plan)
    assert(result.decided.exists(_.decision.path("filterReason").path("code").asText == "REUSED_EXCHANGE"), result.decided)
  }

  test("a filter that two of three uses request does not go on their scan") {
    val query =
      """SELECT count(*), sum(n) FROM (
        |  SELECT s.item, count(*) AS n FROM (SELECT ticket, max(item) AS item FROM sold GROUP BY ticket) s JOIN back ON s.ticket = back.ticket
        |    WHERE reason = 1 GROUP BY s.item
        |  UNION ALL
        |  SELECT s.item, sum(reason) FROM (SELECT ticket, max(item) AS item FROM sold GROUP BY ticket) s JOIN back ON s.ticket = back.ticket
        |    WHERE reason = 1 GROUP BY s.item
        |  UNION ALL
        |  SELECT s.item, max(s.ticket) FROM (SELECT ticket, max(item) AS item FROM sold GROUP BY ticket) s GROUP BY s.item)""".stripMargin
    val result = sharedAsBefore(query)
    assert(!filtered(result).contains("parquet-sold(ticket)"), result.plan)
  }

  test("two uses whose sources differ leave the scan as it is") {
    val side = (reason: Int) =>
      s"SELECT s.ticket, s.n FROM (SELECT ticket, count(*) AS n FROM sold GROUP BY ticket) s JOIN back ON s.ticket = back.ticket WHERE reason = $reason"
    val result = sharedAsBefore(s"${side(1)} UNION ALL ${side(2)}")
    assert(!filtered(result).contains("parquet-sold(ticket)"), result.plan)
  }

  test("several filters on a shared scan are in one order for all of its uses") {
    val query =
      """WITH returned AS (
        |  SELECT sold.item, sold.amount, days.year FROM sold JOIN back ON sold.ticket = back.ticket JOIN items ON sold.item = items.i
        |    JOIN days ON sold.day = days.d WHERE color IN ('c1', 'c7'))
        |SELECT a.item, a.n, b.n FROM
        |  (SELECT item, count(amount) AS n FROM returned WHERE year = 2001 GROUP BY item) a
        |  JOIN (SELECT item, count(amount) AS n FROM returned WHERE year = 2003 GROUP BY item) b ON a.item = b.item""".stripMargin
    val result = sharedAsBefore(query)
    assert(Set("parquet-sold(ticket)", "parquet-sold(item)").subsetOf(filtered(result).toSet), result.plan)
  }

  test("the rows of a semi join filter another scan of the same table, as TPC-DS q95 does") {
    val query =
      """WITH pairs AS (SELECT s1.item FROM sold s1 JOIN sold s2 ON s1.item = s2.item WHERE s1.day <> s2.day)
        |SELECT count(distinct s.item), sum(s.amount) FROM sold s JOIN days ON s.day = days.d
        |WHERE year = 2001 AND s.ticket < 40 AND s.item IN (SELECT item FROM pairs)
        |  AND s.item IN (SELECT i FROM items JOIN pairs ON items.i = pairs.item)""".stripMargin
    val result = sharedAsBefore(query)
    assert(filtered(result).contains("parquet-sold(item)"), result.plan)
  }

  test("the strategy of a join above a semi join is left to Spark, whose plan has no place for a hint") {
    val query =
      """SELECT count(*), sum(s.amount) FROM sold s
        |WHERE s.ticket < 40 AND s.item IN (SELECT item FROM sold WHERE day = 3) AND s.item IN (SELECT ticket FROM sold WHERE amount <> 5)""".stripMargin
    val result = sharedAsBefore(query)
    val chosen = result.decided.map(_.decision).map(d => d.path("facts").path("joinId").asText -> d.path("choice").asText).toMap
    assert(chosen("left_semi:item=ticket") == "leave_to_spark", chosen)
  }
}
