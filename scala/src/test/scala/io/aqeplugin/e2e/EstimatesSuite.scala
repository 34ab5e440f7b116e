package io.aqeplugin.e2e

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.CatalogStatistics
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.observe.{ColumnWidths, TableStatistics}

/** The rows of a table before its predicates, where a scan leaves out partitions: the pass rate is not 1, and a filter is chosen. */
class EstimatesSuite extends AnyFunSuite with PluginSession with EstimateQueries {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    withConf("spark.aqePlugin.mode" -> "off") {
      Seq("parquet", "orc").foreach { format =>
        val path = folder.resolve(s"$format-returns").toString
        spark.sql(Returns).repartition(1).write.partitionBy("day").format(format).save(path)
        spark.read.format(format).load(path).createOrReplaceTempView(s"${format}_returns")
      }
      Seq("plain_returns", "analyzed_returns", "columns_returns").foreach { table =>
        spark.sql(s"CREATE TABLE $table USING parquet PARTITIONED BY (day) AS ${Returns.replace("SELECT", "SELECT /*+ REPARTITION(1) */")}")
      }
      spark.sql("ANALYZE TABLE analyzed_returns COMPUTE STATISTICS")
      spark.sql("ANALYZE TABLE columns_returns COMPUTE STATISTICS FOR ALL COLUMNS")
    }
    table("sales", Sales, files = 2)
    table("days", Days)
  }

  for (
    (table, source) <- Seq(
      "parquet_returns" -> "scaled_scan_output",
      "orc_returns" -> "scaled_scan_output",
      "plain_returns" -> "scaled_scan_output",
      "analyzed_returns" -> "catalog"
    )
  ) {
    test(s"a condition on the partitions of $table prunes them, and the pass rate is that of the whole table: $source") {
      val decision = chosen(s"SELECT count(*), sum(s.v) FROM sales s JOIN (SELECT * FROM $table WHERE day < 2) r ON s.ticket = r.ticket")
      isOfTheTable(decision, source)
    }

    test(
      s"a dimension's filter prunes the partitions of $table while the query runs, and the pass rate is that of the whole table: $source"
    ) {
      val decision = chosen(
        s"""SELECT count(*), sum(s.v) FROM sales s JOIN (
           |  SELECT /*+ BROADCAST(d) */ ticket FROM $table t JOIN days d ON t.day = d.day WHERE d.name IN ('d0', 'd1')
           |) r ON s.ticket = r.ticket""".stripMargin
      )
      isOfTheTable(decision, source)
    }
  }

  test("a build side that is small enough to be broadcast only because a filter removed rows of it says so") {
    table("every_day", Returns, files = 2)
    def smallByFilters(days: Int): Seq[Boolean] =
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "40k", "spark.aqePlugin.test.openGates" -> "true") {
        val query =
          s"SELECT count(*) FROM sales s JOIN every_day r ON s.ticket = r.ticket JOIN days d ON r.day = d.day WHERE d.name < 'd$days'"
        sameRows(spark.sql(query)).decided.map(_.decision.path("facts")).filter(_.path("keys").toString.contains("ticket"))
          .map(_.path("smallByFilters").asBoolean)
      }
    assert(smallByFilters(days = 1) == Seq(true))
    assert(smallByFilters(days = 9) == Seq(false))
  }

  test("an unpartitioned small table has as many rows as came out of its scan") {
    table("whole", Returns)
    val decision = chosen("SELECT count(*), sum(s.v) FROM sales s JOIN (SELECT * FROM whole WHERE day < 2) r ON s.ticket = r.ticket")
    isOfTheTable(decision, "scan_output", tolerance = 0)
  }

  test("the probe side is estimated from the files that its scan selects") {
    val decision = chosen("SELECT count(*) FROM analyzed_returns r JOIN days d ON r.ticket = d.day WHERE r.day < 5 AND d.name = 'd3'")
    val probe = decision.path("facts").path("probe")
    assert(math.abs(probe.path("scanRows").asLong - TableRows / 4) <= TableRows / 50, probe)
    assert(probe.path("scanRowsSource").asText == "selected_files", probe)
  }

  test("a string is as wide as the catalog says, or as a finished shuffle measured it") {
    withConf("spark.aqePlugin.mode" -> "off") {
      val rows = "SELECT id, id % 1000 AS k, repeat('x', 200) AS note FROM range(20000)"
      Seq("notes", "analyzed_notes").foreach(name => spark.sql(s"CREATE TABLE $name USING parquet AS $rows"))
      spark.sql("ANALYZE TABLE analyzed_notes COMPUTE STATISTICS FOR ALL COLUMNS")
    }
    table("few_keys", "SELECT id AS k, id % 50 AS v FROM range(1000)")
    def rowBytes(query: String): Seq[Long] =
      sameRows(spark.sql(query)).decided.map(_.decision.path("facts").path("probe").path("rowBytes").asLong)
    def ofOne(name: String) = s"SELECT max(n.note), sum(n.id) FROM $name n JOIN few_keys f ON n.k = f.k WHERE f.v = 1"
    // Two numbers, and 20 bytes if nothing is known of the string; 200 and the word that says where they are.
    assert(rowBytes(ofOne("notes")) == Seq(8 + 2 * 8 + 20) && rowBytes(ofOne("analyzed_notes")) == Seq(8 + 2 * 8 + 208))
    val done = withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1")(sameRows(spark.sql(ofOne("notes"))))
    val joins = collectWithSubqueries(done.plan) { case join: BaseJoinExec => new ColumnWidths(TableStatistics.None).rowBytes(join) }
    assert(joins.nonEmpty && joins.forall(bytes => bytes >= 8 + 2 * 8 + 208 && bytes < 300), joins)
  }

  test("with column statistics, Spark's estimate says what a predicate keeps") {
    val decision =
      chosen("SELECT count(*) FROM columns_returns r JOIN days d ON r.ticket = d.day WHERE r.amount < 30 AND d.name = 'd3'")
    val probe = decision.path("facts").path("probe")
    assert(math.abs(probe.path("rows").asDouble / probe.path("scanRows").asDouble - 0.3) < 0.02, probe)
    assert(probe.path("rowsSource").asText == "column_statistics", probe)
  }

  test("without statistics, a predicate keeps a fixed share, and the estimate says so") {
    val decision = chosen("SELECT count(*) FROM parquet_returns r JOIN days d ON r.ticket = d.day WHERE r.amount < 30 AND d.name = 'd3'")
    val probe = decision.path("facts").path("probe")
    assert(math.abs(probe.path("rows").asDouble / probe.path("scanRows").asDouble - 0.2) < 0.01, probe)
    assert(probe.path("rowsSource").asText == "assumed", probe)
  }

  test("a comparison of a timestamp keeps its part of the range in the footers, and INT96, which has none, a fixed share") {
    def kept(writes: String): (Double, String) = {
      val name = s"visits_$writes"
      withConf("spark.sql.parquet.outputTimestampType" -> writes) {
        // Random numbers, so that the files are large enough for their footers to be read.
        table(
          name,
          """SELECT CAST(id % 40 AS int) AS ticket, TIMESTAMP'2026-03-01' + id * INTERVAL '1' MINUTE AS at, rand(1) AS a, rand(2) AS b
            |FROM range(400000)""".stripMargin
        )
      }
      val decision =
        chosen(s"SELECT count(*) FROM $name v JOIN days d ON v.ticket = d.day WHERE v.at >= TIMESTAMP'2026-11-01' AND d.name = 'd3'")
      val probe = decision.path("facts").path("probe")
      (probe.path("rows").asDouble / probe.path("scanRows").asDouble, probe.path("rowsSource").asText)
    }
    val (share, source) = kept("TIMESTAMP_MICROS")
    // 400,000 minutes end on the 4th of December.
    assert(math.abs(share - 0.118) < 0.02 && source == "column_range", (share, source))
    assert(kept("INT96") == ((0.2, "assumed")))
  }

  test("statistics that lie by any factor change no row and end no query") {
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql(s"CREATE TABLE lying USING parquet AS $Returns")
    }
    Seq(BigInt(0), BigInt(1), BigInt(10).pow(12), BigInt(10).pow(30)).foreach { rows =>
      spark.sessionState.catalog.alterTableStats(TableIdentifier("lying"), Some(CatalogStatistics(rows * 8 + 1, Some(rows))))
      Seq("sales s JOIN lying r", "lying r JOIN sales s").foreach { joined =>
        val _ = sameRows(spark.sql(s"SELECT count(*), sum(s.v) FROM $joined ON s.ticket = r.ticket WHERE r.amount < 30"))
      }
    }
  }

  test("a table without its folder is of unknown size, and the rows are the same") {
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql("CREATE TABLE moved (ticket INT, amount INT, day INT) USING parquet PARTITIONED BY (day)")
      val elsewhere = folder.resolve("elsewhere")
      spark.sql(s"ALTER TABLE moved ADD PARTITION (day = 1) LOCATION 'file://$elsewhere'")
      spark.sql(s"INSERT INTO moved PARTITION (day = 1) SELECT ticket, amount FROM ($Returns) WHERE day = 1")
    }
    assert(spark.sessionState.catalog.getTableMetadata(TableIdentifier("moved")).tracksPartitionsInCatalog)
    val ran =
      sameRows(spark.sql("SELECT count(*), sum(s.v) FROM sales s JOIN (SELECT * FROM moved WHERE day = 1) r ON s.ticket = r.ticket"))
    val build = ran.decided.head.decision.path("facts").path("build")
    assert(build.path("originRows").isNull || build.path("originRows").asLong == TableRows / 20, build)
  }
}

/** A join of sales with the returns of a few days, and what its decision must say of the returns. */
trait EstimateQueries { this: AnyFunSuite with PluginSession =>
  protected val TableRows = 20000L

  protected val Returns: String =
    s"SELECT CAST(id AS int) AS ticket, CAST(id % 100 AS int) AS amount, CAST(id % 20 AS int) AS day FROM range($TableRows)"
  protected val Sales: String = s"SELECT CAST(id AS int) % $TableRows AS ticket, id AS v FROM range(60000)"
  protected val Days: String = "SELECT CAST(id AS int) AS day, concat('d', id) AS name FROM range(20)"

  // No broadcasts but those that a query asks for, and shuffles that are worth a filter.
  private val FilterPays = Seq(
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1",
    "spark.aqePlugin.broadcast.maxMemoryBytes" -> "1",
    "spark.aqePlugin.filter.minProbeRows" -> "0",
    "spark.aqePlugin.cost.shuffleNanosPerRow" -> "1000000"
  )

  /** The decision of the join on tickets, with the rows that Spark gives alone. */
  protected def chosen(query: String): JsonNode = withConf(FilterPays: _*) {
    val expected = withoutPlugin(spark.sql(query))
    val result = ran(spark.sql(query))
    assert(result.rows == expected, s"the plugin changed the rows of\n${result.plan}")
    result.decided.map(_.decision).find(_.path("facts").path("keys").toString.contains("ticket")).getOrElse(fail("no decision"))
  }

  /** Two of twenty days are a tenth of the tickets. */
  protected def isOfTheTable(decision: JsonNode, source: String, tolerance: Double = 0.1): Assertion = {
    val build = decision.path("facts").path("build")
    assert(build.path("originRowsSource").asText == source, build)
    assert(math.abs(build.path("originRows").asLong - TableRows) <= tolerance * TableRows, build)
    assert(math.abs(decision.path("passRate").asDouble - 0.1) < 0.02, decision)
    assert(decision.path("buildFilter").asBoolean, decision)
  }
}
