package io.aqeplugin.e2e

import org.apache.spark.metrics.source.HiveCatalogMetrics
import org.apache.spark.sql.execution.{ExtendedMode, FileSourceScanExec}
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, BroadcastNestedLoopJoinExec, SortMergeJoinExec}
import org.scalatest.funsuite.AnyFunSuite

/** What a join that compares by order reads of its probe side, once the range of its build side is known. */
class RangeJoinsSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map("spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false")

  /** 20 days of 50 points each, a partition a day. */
  private val Points =
    "SELECT id, CAST(id AS int) AS x, IF(id % 10 = 3, NULL, CAST(id AS int)) AS y, CAST(id % 5 AS int) AS k, " +
      "timestamp_micros(id * 1000000) AS ts, CAST(id AS double) AS f, concat('s', id) AS s, " +
      "date_add(DATE'2020-01-01', CAST(id DIV 50 AS int)) AS d, CAST(id DIV 50 AS int) AS day FROM range(1000)"

  /** Four spans from day 4 to day 9; every key has two of them, and one end is null. */
  private val Spans =
    "SELECT id AS span, CAST(id % 2 AS int) AS k, CAST(4 + id AS int) AS lo, CAST(6 + id AS int) AS hi, 4L + id AS big_lo, 6L + id AS big_hi, " +
      "IF(id = 3, NULL, CAST(6 + id AS int)) AS maybe_hi, date_add(DATE'2020-01-05', CAST(id AS int)) AS start, " +
      "timestamp_micros((200 + id) * 1000000) AS since, timestamp_micros((300 + id) * 1000000) AS until, " +
      "CAST(200 + id AS double) AS f, 's2' AS s, CAST(NULL AS int) AS nothing FROM range(4)"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    withConf("spark.aqePlugin.mode" -> "off") {
      val points = folder.resolve("points").toString
      spark.sql(Points).repartition(1).write.partitionBy("day").parquet(points)
      spark.read.parquet(points).createOrReplaceTempView("points")
      val groups = folder.resolve("groups").toString
      spark.range(0, 4000, 1, 2).selectExpr("id AS k", "CAST(id AS int) AS x", "'text ' || id AS s")
        .write.option("parquet.block.size", "2000").parquet(groups)
      spark.read.parquet(groups).createOrReplaceTempView("row_groups")
      spark.sql("CREATE TABLE kept USING parquet PARTITIONED BY (day) AS SELECT id, x, day FROM points")
    }
    table("spans", Spans)
  }

  private def scanOf(ran: Ran, table: String): FileSourceScanExec = collectWithSubqueries(ran.plan) {
    case scan: FileSourceScanExec
        if scan.relation.location.rootPaths.exists(_.getName == table) || scan.tableIdentifier.exists(_.table == table) =>
      scan
  }.headOption.getOrElse(fail(s"no scan of $table in\n${ran.plan}"))

  private def filesRead(ran: Ran, table: String = "points"): Long = scanOf(ran, table).metrics("numFiles").value

  private def rangeFilters(ran: Ran): Seq[String] =
    outcomes(ran).filter(_.path("kind").asText == "range").map(_.path("scanColumns").path(0).asText).distinct.sorted

  private def reads(what: String, query: String, conf: (String, String)*)(files: Long, columns: String*): Unit = test(what) {
    withConf(conf: _*) {
      val result = sameRows(spark.sql(query))
      assert(rangeFilters(result) == columns, result.plan)
      assert(filesRead(result) == files, result.plan)
    }
  }

  private val Shuffled = Seq("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1")

  reads(
    "a nested loop join reads only the partitions between its bounds",
    "SELECT p.id, s.span FROM points p JOIN spans s ON p.day BETWEEN s.lo AND s.hi"
  )(6, "day")
  reads("columns of two widths are compared", "SELECT p.id, s.span FROM points p JOIN spans s ON p.day BETWEEN s.big_lo AND s.big_hi")(
    6,
    "day"
  )
  reads("strict bounds leave out their own values", "SELECT p.id FROM points p JOIN spans s ON p.day > s.lo AND p.day < s.hi")(4, "day")
  reads("a single bound leaves the other end open", "SELECT p.id FROM points p JOIN spans s ON p.day < s.lo")(7, "day")
  reads("sums with constants move the bounds", "SELECT p.id FROM points p JOIN spans s ON p.day + 1 >= s.lo + 4 AND p.day <= s.hi + 2")(
    5,
    "day"
  )
  reads("a bound that is null has no partner", "SELECT p.id FROM points p JOIN spans s ON p.day BETWEEN s.lo AND s.maybe_hi")(5, "day")
  reads(
    "a semi join is bounded like an inner join",
    "SELECT p.id FROM points p WHERE EXISTS (SELECT 1 FROM spans s WHERE p.day BETWEEN s.lo AND s.hi)"
  )(6, "day")
  reads(
    "a right outer join bounds its left side",
    "SELECT /*+ BROADCAST(s) */ p.id, s.span FROM points p RIGHT JOIN spans s ON p.day BETWEEN s.lo AND s.hi"
  )(6, "day")
  reads(
    "a left outer join does not bound its left side",
    "SELECT p.id, s.span FROM points p LEFT JOIN spans s ON p.day BETWEEN s.lo AND s.hi"
  )(20)
  reads("an anti join does not bound its left side", "SELECT p.id FROM points p LEFT ANTI JOIN spans s ON p.day BETWEEN s.lo AND s.hi")(20)
  reads(
    "bounds reach a scan below an aggregate by the bounded column",
    "SELECT p.day, n FROM (SELECT day, count(*) AS n FROM points GROUP BY day) p JOIN spans s ON p.day BETWEEN s.lo AND s.hi"
  )(6, "day")
  reads(
    "every row of a hashed relation counts, also of a repeated key",
    "SELECT p.id, s.span FROM points p JOIN spans s ON p.k = s.k AND p.day BETWEEN s.lo AND s.hi"
  )(6, "day")
  reads(
    "a sort-merge join waits for its bounds",
    "SELECT p.id, s.span FROM points p JOIN spans s ON p.k = s.k AND p.day BETWEEN s.lo AND s.hi",
    Shuffled: _*
  )(6, "day")
  reads(
    "a sort-merge join with one bound does not wait for it",
    "SELECT p.id, s.span FROM points p JOIN spans s ON p.k = s.k AND p.day <= s.hi",
    Shuffled: _*
  )(20)

  test("days after a date bound a column of files") {
    val result = sameRows(spark.sql("SELECT p.id, s.span FROM points p JOIN spans s ON p.d BETWEEN s.start AND s.start + 3"))
    assert(rangeFilters(result) == Seq("d"))
    assert(scanOf(result, "points").metrics("numOutputRows").value == 350)
  }

  test("timestamps bound a column") {
    val result = sameRows(spark.sql("SELECT p.id, s.span FROM points p JOIN spans s ON p.ts >= s.since AND p.ts < s.until"))
    assert(rangeFilters(result) == Seq("ts"))
    assert(outcomes(result).map(_.path("rowsOut").asLong) == Seq(103L))
  }

  test("row groups outside of the bounds are not read") {
    for (query <- Seq("x BETWEEN s.lo * 1 AND s.hi", "x BETWEEN s.lo AND s.hi", "k BETWEEN s.lo AND s.hi")) {
      val result = sameRows(spark.sql(s"SELECT g.k, g.s, s.span FROM row_groups g JOIN spans s ON g.$query"))
      val rowsRead = scanOf(result, "groups").metrics("numOutputRows").value
      if (query.contains("*")) assert(rangeFilters(result) == Seq("x")) else assert(rowsRead < 1000, s"$rowsRead rows of\n${result.plan}")
    }
  }

  test("to plan a join on a partition column looks at no more files of a table in the catalog than Spark does") {
    val files = HiveCatalogMetrics.METRIC_FILES_DISCOVERED
    def discovered(mode: String): Long = withConf("spark.aqePlugin.mode" -> mode) {
      val _ = spark.sql("REFRESH TABLE kept")
      val before = files.getCount
      val frame = spark.sql("SELECT p.id, s.span FROM kept p JOIN spans s ON p.day BETWEEN s.lo AND s.hi")
      assert(frame.queryExecution.explainString(ExtendedMode).contains("NestedLoopJoin"))
      files.getCount - before
    }
    val alone = discovered("off")
    assert(Seq("apply", "observe").map(discovered) == Seq(alone, alone))
  }

  test("partitions of a table in the catalog are pruned") {
    val result = sameRows(spark.sql("SELECT p.id, s.span FROM kept p JOIN spans s ON p.day BETWEEN s.lo AND s.hi"))
    assert(filesRead(result, "kept") == 6)
  }

  test("bounds that are all null leave no row") {
    val result = sameRows(spark.sql("SELECT p.id FROM points p JOIN spans s ON p.day BETWEEN s.lo AND s.nothing"))
    assert(result.rows.isEmpty)
  }

  private def refused(what: String, condition: String, code: String): Unit = test(s"$what bound nothing") {
    val result = sameRows(spark.sql(s"SELECT p.id, s.span FROM points p JOIN spans s ON $condition"))
    assert(rangeFilters(result).isEmpty && filesRead(result) == 20, result.plan)
    assert(result.decided.map(_.decision.path("filterReason").path("code").asText) == Seq(code))
  }

  refused("floating-point columns", "p.f > s.f", "UNSUPPORTED_KEY_TYPE")
  refused("strings", "p.s < s.s", "UNSUPPORTED_KEY_TYPE")
  refused("products", "p.x < s.lo * 3", "KEY_NOT_PLAIN")
  refused("sums of days that could wrap around", "p.d > s.start + 3", "KEY_NOT_PLAIN")

  test("a sum that could wrap around bounds a column only in the direction in which it is right") {
    withConf("spark.sql.ansi.enabled" -> "false") {
      val wraps = sameRows(spark.sql("SELECT p.id FROM points p JOIN spans s ON p.day >= s.lo + 1"))
      assert(rangeFilters(wraps).isEmpty)
      val widens = sameRows(spark.sql("SELECT p.id FROM points p JOIN spans s ON p.day >= s.lo - 1"))
      assert(rangeFilters(widens) == Seq("day"))
    }
  }

  test("sums at the ends of a type give the rows of Spark") {
    table("ends", "SELECT CAST(v AS int) AS v FROM VALUES (-2147483648), (-2147483647), (0), (2147483646), (2147483647) AS t(v)")
    table(
      "bounds",
      "SELECT CAST(v AS int) AS v, CAST(w AS bigint) AS w FROM VALUES (-2147483648, -9000000000), (2147483647, 9000000000) AS t(v, w)"
    )
    val conditions = for {
      probe <- Seq("e.v", "e.v + 1", "e.v - 1")
      operator <- Seq("<", ">=")
      build <- Seq("b.v", "b.v + 2", "b.v - 2", "b.w")
    } yield s"$probe $operator $build"
    withConf("spark.sql.ansi.enabled" -> "false") {
      for ((condition, kind) <- Extent.some(sample = 16)(conditions.flatMap(c => Seq(c -> "JOIN", c -> "LEFT SEMI JOIN")))) {
        val columns = if (kind == "JOIN") "e.v, b.v" else "e.v"
        val _ = withClue(condition)(sameRows(spark.sql(s"SELECT $columns FROM ends e $kind bounds b ON $condition")))
      }
    }
  }

  test("the join keeps its method, and the decision, the events and EXPLAIN have the range") {
    val nested = sameRows(spark.sql("SELECT p.id, s.span FROM points p JOIN spans s ON p.day BETWEEN s.lo AND s.hi"))
    assert(collect(nested.plan) { case join: BroadcastNestedLoopJoinExec => join }.size == 1)
    val Seq(decision) = nested.decided.map(_.decision): @unchecked
    assert(decision.path("choice").asText == "broadcast" && decision.path("reason").path("code").asText == "ALREADY_BROADCAST")
    assert(decision.path("facts").path("keys").toString.contains("p.day >= s.lo"))
    assert(decision.path("facts").path("build").path("keys").path("max").asLong == 9)
    assert(nested.plan.toString.contains("RuntimeFilter [points(day) by inner:day<=hi,day>=lo"))
    val hashed = sameRows(spark.sql("SELECT p.id FROM points p JOIN spans s ON p.k = s.k AND p.day BETWEEN s.lo AND s.hi"))
    assert(collect(hashed.plan) { case join: BroadcastHashJoinExec => join }.size == 1)
    assert(hashed.decided.size == 2)
    withConf(Shuffled: _*) {
      val merged = sameRows(spark.sql("SELECT p.id FROM points p JOIN spans s ON p.k = s.k AND p.day BETWEEN s.lo AND s.hi"))
      assert(collect(merged.plan) { case join: SortMergeJoinExec => join }.size == 1)
      val ranges = merged.decided.map(_.decision).filter(_.path("facts").path("keys").toString.contains(">="))
      assert(ranges.map(_.path("reason").path("code").asText) == Seq("OTHER_STRATEGY"))
    }
  }

  test("mode observe records the range and leaves Spark's plan") {
    val query = "SELECT p.id, s.span FROM points p JOIN spans s ON p.day BETWEEN s.lo AND s.hi"
    withConf("spark.aqePlugin.mode" -> "observe") {
      val result = withPlugin(spark.sql(query))
      assert(filesRead(result) == 20 && filters(result.plan).isEmpty)
      assert(result.decided.map(_.decision.path("buildFilter").asBoolean) == Seq(true))
    }
  }

  test("the pass rate is the share of the column's values that the bounds cover") {
    def decision(spans: String) = withConf("spark.aqePlugin.filter.minProbeRows" -> "1", "spark.aqePlugin.cost.fileOpenNanos" -> "0") {
      val result = ran(spark.sql(s"SELECT p.id FROM points p JOIN ($spans) s ON p.day BETWEEN s.lo AND s.hi"))
      assert(filters(result.plan).isEmpty)
      result.decided.map(_.decision).map(one => (one.path("passRate").asDouble, one.path("filterReason").path("code").asText))
    }
    assert(decision("SELECT lo - 9 AS lo, hi + 90 AS hi FROM spans") == Seq((1.0, "PASS_RATE_TOO_HIGH")))
    assert(decision("SELECT lo, hi FROM spans") == Seq((6.0 / 20, "FILTER_COSTS_MORE")))
  }
}
