package io.aqeplugin.e2e

import java.util.concurrent.atomic.LongAdder

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.scalatest.funsuite.AnyFunSuite

/** A part of a query that Spark runs once for several uses gets the filters that all of its uses request alike, and the union of those that
  * each requests, and still runs once.
  */
class SharedExchangesSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map("spark.sql.autoBroadcastJoinThreshold" -> "-1")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("sold", "SELECT id AS ticket, id % 90 AS item, id % 20 AS day, id % 7 AS amount FROM range(4000)", files = 3)
    table("back", "SELECT id * 9 AS ticket, id % 11 AS reason FROM range(400)", files = 2)
    table("wide", "SELECT hash(id) AS ticket FROM range(3000)")
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

  private lazy val largeTables: Unit = {
    table("many", "SELECT id AS ticket, id % 90 AS item, id % 2000 AS day, rand(1) AS x FROM range(600000)")
    table("calendar", "SELECT id AS d, 1996 + id div 4 AS year FROM range(4000)")
  }

  /** Decides joins with a fact table by closed gates; returns also how many more records were read than without the plugin. */
  private def priced(query: String, confs: (String, String)*): (Seq[JsonNode], Long) = {
    largeTables
    val all = Seq("spark.sql.autoBroadcastJoinThreshold" -> "10", "spark.aqePlugin.cost.shuffleNanosPerRow" -> "10000") ++ confs
    withConf(all: _*) {
      val (before, recordsBefore) = counted(withConf("spark.aqePlugin.mode" -> "off")(ran(spark.sql(query))))
      val (result, records) = counted(ran(spark.sql(query)))
      assert(result.rows.nonEmpty && result.rows == before.rows, result.plan)
      result.decided.map(_.decision) -> (records - recordsBefore)
    }
  }

  /** Two uses of a scan in one union. */
  private def readByTwo(scanNanosPerByte: String, second: String = "JOIN"): (Seq[JsonNode], Long) = {
    def of(year: Int, join: String) = s"SELECT item, x FROM known $join (SELECT d FROM calendar WHERE year = $year) ON day = d"
    val query = s"WITH known AS (SELECT * FROM many WHERE day IS NOT NULL) ${of(1997, "JOIN")} UNION ALL ${of(1999, second)}"
    priced(query, "spark.aqePlugin.cost.scanNanosPerByte" -> scanNanosPerByte)
  }

  private def choices(decisions: Seq[JsonNode]): Seq[String] = decisions.map(_.path("choice").asText)

  private def shares(decisions: Seq[JsonNode]): Seq[Double] =
    decisions.flatMap(_.path("facts").path("probe").path("path").elements().asScala)
      .filter(_.path("work").asText == "shared").map(_.path("share").asDouble)

  /** The terms of broadcasts without a filter. */
  private def broadcastTerms(decisions: Seq[JsonNode]): Set[String] =
    decisions.flatMap(_.path("options").elements().asScala)
      .filter(option => option.path("strategy").asText == "broadcast" && !option.path("withFilter").asBoolean)
      .flatMap(_.path("terms").elements().asScala).map(_.path("name").asText).toSet

  test("joins that share a scan are broadcast where each reads it faster than both shuffle it") {
    val (decisions, more) = readByTwo(scanNanosPerByte = "0.1")
    assert(choices(decisions) == Seq("broadcast", "broadcast") && more >= 500000, decisions)
    // The other join may be decided by then.
    assert(shares(decisions).contains(0.5) && shares(decisions).forall(Set(0.5, 1.0)), decisions)
  }

  test("joins that share a scan are not broadcast where reading it twice costs more than to shuffle it once") {
    val (decisions, more) = readByTwo(scanNanosPerByte = "10000")
    assert(decisions.nonEmpty && !choices(decisions).exists(_.startsWith("broadcast")) && more <= 0, decisions)
    assert(Set("shuffle of others", "scan by itself").subsetOf(broadcastTerms(decisions)), decisions)
  }

  test("a join that shares its shuffle with one that cannot be broadcast saves nothing of it") {
    val (decisions, _) = readByTwo(scanNanosPerByte = "0.1", second = "FULL JOIN")
    assert(shares(decisions).contains(0.0), decisions)
  }

  test("a scan in a larger part that two uses share is not shared by itself") {
    val (decisions, more) = priced(
      """WITH sums AS (SELECT item, count(x) AS n FROM many JOIN calendar ON day = d WHERE year = 1997 GROUP BY item)
        |SELECT a.item, a.n, b.n FROM sums a JOIN sums b ON a.item = b.item + 1""".stripMargin
    )
    assert(choices(decisions).contains("broadcast") && shares(decisions).isEmpty && more <= 0, decisions)
  }

  test("two uses that keep other years filter their scan by both") {
    val result = sharedAsBefore(TwoYears)
    assert(filtered(result).contains("parquet-sold(day)"), result.plan)
    assert(rowsOf(result, "parquet-sold", "day") == ((400, 200)), outcomes(result))
  }

  /** Sales of two years of one calendar, with closed gates; files of this size have their footers read, which tell the range of the days. */
  private def yearsOf(days: Int, years: Int => String): Ran = {
    table("many", s"SELECT id AS ticket, id % 90 AS item, id % $days AS day, rand(1) AS x FROM range(600000)")
    table("calendar", "SELECT id AS d, 1996 + id div 4 AS year FROM range(4000)")
    def inYears(first: Int) = s"(SELECT item, count(x) AS n FROM many JOIN calendar ON day = d WHERE ${years(first)} GROUP BY item)"
    val query = s"SELECT a.item, a.n, b.n FROM ${inYears(997)} a JOIN ${inYears(999)} b ON a.item = b.item"
    withConf("spark.aqePlugin.cost.shuffleNanosPerRow" -> "10000") {
      val (before, recordsBefore) = counted(withConf("spark.aqePlugin.mode" -> "off")(ran(spark.sql(query))))
      val (result, records) = counted(ran(spark.sql(query)))
      assert(result.rows.nonEmpty && result.rows == before.rows && records <= recordsBefore, result.plan)
      result
    }
  }

  test("two uses that keep other years filter their scan by both, though more days are expected than it has") {
    val result = yearsOf(days = 20, year => s"year % 1000 = $year")
    assert(unionsOf(result).map(_.size) == Seq(2), outcomes(result))
    assert(rowsOf(result, "parquet-many", "day") == ((600000, 240000)), outcomes(result))
  }

  test("two uses that keep more years than expected leave their scan as it is") {
    val result = yearsOf(days = 20, year => s"year % 1000 IN ($year, ${year - 1})")
    assert(outcomes(result).isEmpty, outcomes(result))
  }

  test("a filter that only one of two uses requests does not go on their scan") {
    val result = sharedAsBefore(s"${cameBack(1)} UNION ALL SELECT ticket, n FROM ($PerTicket)")
    assert(!filtered(result).contains("parquet-sold(ticket)"), result.plan)
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
        |  SELECT s.item, max(s.ticket) FROM (SELECT ticket, max(item) AS item FROM sold WHERE ticket IS NOT NULL GROUP BY ticket) s GROUP BY s.item)""".stripMargin
    val result = sharedAsBefore(query)
    assert(!filtered(result).contains("parquet-sold(ticket)"), result.plan)
  }

  private val PerTicket = "SELECT ticket, count(*) AS n FROM sold WHERE ticket IS NOT NULL GROUP BY ticket"

  /** Tickets that came back for one reason, from an aggregate of all sales. */
  private def cameBack(reason: Int, join: String = "JOIN"): String =
    s"""SELECT s.ticket, s.n FROM ($PerTicket) s
       |$join (SELECT * FROM back WHERE reason = $reason) b ON s.ticket = b.ticket""".stripMargin

  /** Rows into and out of the filters of a scan on one column; those of a union are counted once. */
  private def rowsOf(ran: Ran, table: String, column: String): (Long, Long) = {
    val here = outcomes(ran).filter(o => o.path("table").asText == table && o.path("scanColumns").path(0).asText == column)
    (here.map(_.path("rowsIn").asLong).sum, here.map(_.path("rowsOut").asLong).sum)
  }

  private def unionsOf(ran: Ran): Seq[Seq[String]] =
    outcomes(ran).filter(_.hasNonNull("anyOf")).groupMap(_.path("anyOf").asText)(_.path("filterId").asText).values.toSeq

  test("two uses whose sources differ keep the rows of both") {
    val result = sharedAsBefore(s"${cameBack(1)} UNION ALL ${cameBack(2)}")
    assert(filtered(result).contains("parquet-sold(ticket)"), result.plan)
    assert(unionsOf(result).map(_.size) == Seq(2), outcomes(result))
    assert(rowsOf(result, "parquet-sold", "ticket") == ((4000, 74)), outcomes(result))
    val told = result.decided.flatMap(_.filters.elements().asScala).filter(_.path("applied").asBoolean)
    assert(told.map(_.path("reason").path("code").asText).toSet == Set("UNION_OF_USES"), told)
  }

  test("a decision in a union counts the rows that pass for other uses") {
    val result = sharedAsBefore(s"${cameBack(1)} UNION ALL ${cameBack(2)}")
    result.decided.map(_.decision).foreach { decision =>
      val others = decision.path("facts").path("probe").path("otherUsesPassRate").asDouble
      assert(others > 0 && decision.path("passRate").asDouble >= others, decision)
    }
  }

  test("a scan with three uses keeps the rows of all three") {
    val result = sharedAsBefore(Seq(1, 2, 3).map(cameBack(_)).mkString(" UNION ALL "))
    assert(unionsOf(result).map(_.size) == Seq(3), outcomes(result))
  }

  test("two equal uses and another one make a union of two filters") {
    val result = sharedAsBefore(Seq(1, 2, 1).map(cameBack(_)).mkString(" UNION ALL "))
    assert(unionsOf(result).map(_.size) == Seq(2), outcomes(result))
  }

  test("a use whose join keeps all rows leaves the scan as it is") {
    val result = sharedAsBefore(s"${cameBack(1)} UNION ALL ${cameBack(2, "LEFT JOIN")}")
    assert(unionsOf(result).isEmpty && !filtered(result).contains("parquet-sold(ticket)"), result.plan)
  }

  test("a use without a join leaves the scan as it is") {
    val result = sharedAsBefore(
      s"${cameBack(1)} UNION ALL ${cameBack(2)} UNION ALL SELECT ticket, n FROM ($PerTicket)"
    )
    assert(unionsOf(result).isEmpty && !filtered(result).contains("parquet-sold(ticket)"), result.plan)
  }

  test("an aggregate that is joined to itself below different dimensions gets a union") {
    val result = sharedAsBefore(
      """WITH perTicket AS (SELECT ticket, count(*) AS n FROM sold GROUP BY ticket)
        |SELECT count(*), sum(x.n), sum(y.n) FROM
        |  (SELECT p.ticket, p.n FROM perTicket p JOIN back b ON p.ticket = b.ticket WHERE b.reason < 5) x
        |  FULL JOIN (SELECT p.ticket, p.n FROM perTicket p JOIN back b ON p.ticket = b.ticket WHERE b.reason > 3) y
        |  ON x.ticket = y.ticket""".stripMargin
    )
    assert(unionsOf(result).map(_.size) == Seq(2), outcomes(result))
  }

  test("an empty use adds nothing to a union") {
    val result = sharedAsBefore(s"${cameBack(1)} UNION ALL ${cameBack(99)}")
    assert(!unionsOf(result).exists(_.size > 2), outcomes(result))
  }

  test("a use whose filter is not built in time lets every row pass") {
    withConf("spark.aqePlugin.filter.buildTimeout" -> "1", "spark.aqePlugin.sketch.maxKeys" -> "0") {
      val result = sharedAsBefore(s"${cameBack(1)} UNION ALL ${cameBack(2)}")
      assert(outcomes(result).map(_.path("kind").asText).forall(_ == "pass_all"), outcomes(result))
    }
  }

  test("a use whose keys are too many for a filter leaves the scan as it is") {
    withConf("spark.aqePlugin.filter.maxBytes" -> "1024") {
      val many = s"SELECT s.ticket, s.n FROM ($PerTicket) s JOIN wide ON s.ticket = wide.ticket"
      val result = sharedAsBefore(s"${cameBack(1)} UNION ALL $many")
      assert(rowsOf(result, "parquet-sold", "ticket")._1 == 0, outcomes(result))
    }
  }

  /** Sales of some items that came back, for two years, joined to the days of a year by `join`. */
  private def ofItems(join: String): String =
    s"""WITH returned AS (
       |  SELECT sold.item, sold.amount, sold.day FROM sold JOIN back ON sold.ticket = back.ticket JOIN items ON sold.item = items.i
       |    WHERE color IN ('c1', 'c3', 'c5', 'c7', 'c9'))
       |SELECT a.item, a.n, b.n FROM
       |  (SELECT item, count(amount) AS n FROM returned $join days ON day = d AND year = 2001 GROUP BY item) a
       |  JOIN (SELECT item, count(amount) AS n FROM returned $join days ON day = d AND year = 2003 GROUP BY item) b ON a.item = b.item""".stripMargin

  test("several filters on a shared scan are in one order for all of its uses") {
    val result = sharedAsBefore(ofItems("LEFT JOIN"))
    assert(Set("parquet-sold(ticket)", "parquet-sold(item)").subsetOf(filtered(result).toSet), result.plan)
  }

  test("a scan has a filter that all of its uses request, and the union of those that each requests") {
    val result = sharedAsBefore(ofItems("JOIN"))
    assert(Set("parquet-sold(day)", "parquet-sold(item)").subsetOf(filtered(result).toSet), result.plan)
    assert(unionsOf(result).map(_.size) == Seq(2), outcomes(result))
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

  /** Sales that came back, by item, if there are more of them than of all items on average, as TPC-DS q24 asks. */
  private def aboveAverage(condition: String): String =
    s"""WITH returned AS (SELECT sold.ticket, sold.item, sold.amount, color FROM sold JOIN back ON sold.ticket = back.ticket
       |    JOIN items ON sold.item = items.i)
       |SELECT item, sum(amount) AS paid FROM returned WHERE $condition GROUP BY item
       |  HAVING sum(amount) > (SELECT 0.05 * avg(amount) FROM returned)""".stripMargin

  test("a filter that a subquery does not request does not go on a scan that the query shares with it") {
    val result = sharedAsBefore(aboveAverage("color = 'c1'"))
    assert(!filtered(result).contains("parquet-sold(item)"), result.plan)
  }

  test("a filter that the query and a subquery request alike goes on their scan, which runs once") {
    for (condition <- Seq("true", "color = 'c1'")) {
      val result = sharedAsBefore(aboveAverage(condition))
      assert(filtered(result).contains("parquet-sold(ticket)"), result.plan)
    }
  }

  test("equal joins of the query and a subquery are one join with one decision") {
    val result = sharedAsBefore(aboveAverage("true"))
    val names = result.decided.map(_.decision.path("facts").path("joinId").asText)
    assert(names.count(_.startsWith("inner:ticket=ticket")) == 1, names)
  }

  test("several subqueries share a scan with the query and all of them request a filter alike") {
    val many =
      aboveAverage("true") + " + (SELECT max(n) FROM (SELECT item, color, count(amount) AS n FROM returned GROUP BY item, color)) / 1000"
    for (_ <- 1 to 3) {
      val result = sharedAsBefore(many)
      assert(filtered(result).contains("parquet-sold(ticket)"), result.plan)
    }
  }

  test("a filter does not go on a scan that one of the subqueries reads without the join") {
    val whole =
      "(SELECT count(*) FROM (SELECT DISTINCT ticket, item, amount FROM sold WHERE ticket IS NOT NULL AND item IS NOT NULL)) / 1000"
    val result = sharedAsBefore(s"${aboveAverage("true")} + $whole")
    assert(!filtered(result).contains("parquet-sold(ticket)"), result.plan)
  }

  test("a scan that only the query reads gets its filter beside a subquery") {
    val result =
      sharedAsBefore("SELECT item, amount FROM sold JOIN back ON sold.ticket = back.ticket WHERE day > (SELECT avg(year) - 2000 FROM days)")
    assert(filtered(result).contains("parquet-sold(ticket)"), result.plan)
  }
}
