package io.aqeplugin.e2e

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.BinaryComparison
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.execution.FileSourceScanExec
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.infer.InferFilters
import io.aqeplugin.observe.RowCheck

/** Which predicates reach which scan because they follow across a join, and what that saves. */
class PredicatesSuite extends AnyFunSuite with PluginSession {

  // Joins themselves get no filter at run time: what a scan reads here is due to predicates alone.
  override protected def applicationConf: Map[String, String] = Map("spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    for (name <- Seq("l", "r", "m")) {
      val query = "SELECT CAST(id % 10 AS int) AS k, CAST(id % 7 AS int) AS x, IF(id % 5 = 0, NULL, CAST(id % 20 AS int)) AS y, " +
        "concat('v', id % 3) AS v, date_add(DATE'2020-01-01', CAST(id AS int)) AS d, CAST(id % 6 AS double) AS f, CAST(id % 5 AS int) AS part FROM range(60)"
      val path = folder.resolve(s"partitioned-$name").toString
      withConf("spark.aqePlugin.mode" -> "off")(spark.sql(query).repartition(1).write.partitionBy("part").parquet(path))
      spark.read.parquet(path).createOrReplaceTempView(name)
    }
  }

  private def scans(frame: DataFrame): Seq[FileSourceScanExec] =
    collectWithSubqueries(frame.queryExecution.executedPlan) { case scan: FileSourceScanExec => scan }

  /** The filters of the scan of `table`, without column ids. */
  private def filtersOf(table: String, frame: DataFrame): Seq[String] =
    scans(frame).filter(_.relation.location.rootPaths.exists(_.getName == s"partitioned-$table")).flatMap { scan =>
      (scan.partitionFilters ++ scan.dataFilters).map(_.transform { case a: org.apache.spark.sql.catalyst.expressions.AttributeReference =>
        a.withQualifier(Nil)
      }.sql.replaceAll("[()`]", "")).filterNot(_.endsWith("IS NOT NULL"))
    }.sorted

  private def planned(query: String, mode: String): DataFrame = withConf("spark.aqePlugin.predicates.mode" -> mode) {
    val frame = spark.sql(query)
    frame.queryExecution.executedPlan
    frame
  }

  /** The filters of a scan that it has only with the plugin; the query's rows must be the same. */
  private def added(table: String, query: String): Seq[String] = {
    sameRows(spark.sql(query))
    filtersOf(table, planned(query, "apply")).diff(filtersOf(table, planned(query, "off")))
  }

  private def adds(what: String, table: String, query: String)(expected: String*): Unit =
    test(what)(assert(added(table, query) == expected.sorted))

  private def addsNothing(what: String, query: String): Unit =
    test(what)(Seq("l", "r", "m").foreach(table => assert(added(table, query) == Nil, table)))

  adds(
    "a condition on several columns goes to the side that has an equal of each",
    "r",
    "SELECT * FROM l JOIN r ON l.k = r.k AND l.x = r.x WHERE l.k = 1 OR l.x = 2"
  )("k = 1 OR x = 2")
  adds(
    "an OR whose alternatives constrain the key on either side bounds both sides' keys",
    "l",
    "SELECT * FROM l JOIN r ON l.k = r.k WHERE (l.k = 1 AND r.v = 'v1') OR (r.k = 2 AND l.v = 'v2')"
  )("k = 1 OR k = 2 AND v = 'v2'")
  adds(
    "an OR over partition columns prunes partitions of both sides",
    "r",
    "SELECT * FROM l JOIN r ON l.part = r.part WHERE (l.part = 1 AND r.v = 'v1') OR (l.part = 2 AND l.v = 'v2')"
  )("part = 1 OR part = 2")
  test("the side without preserved rows keeps the partners of all rows for which something can fail before a condition removes them") {
    withConf("spark.aqePlugin.mode" -> "off") {
      for (
        (name, rows) <- Seq(
          "kept" -> "VALUES (1, 1, 1, 1), (2, 9, 0, 1) AS t(id, a, b, g)",
          "few" -> "VALUES (9) AS t(x)",
          "one" -> "VALUES (1, 3) AS t(g, z)"
        )
      ) {
        spark.sql(s"SELECT * FROM $rows").write.parquet(folder.resolve(name).toString)
        spark.read.parquet(folder.resolve(name).toString).createOrReplaceTempView(name)
      }
    }
    val groups = "(SELECT g, id, max(a) AS a, max(b) AS b FROM kept GROUP BY g, id) l"
    // An anti join brings rows back, and an outer join makes null of partners, that do not reach the inner join.
    val sides = Seq(
      s"SELECT l.a, l.g, 100 DIV l.b AS q FROM $groups LEFT ANTI JOIN few ON l.a = few.x",
      s"SELECT l.a, l.g, IF(few.x IS NULL, 100 DIV l.b, 0) AS q FROM $groups LEFT JOIN few ON l.a = few.x",
      s"SELECT l.a, l.g, IF(few.x IS NULL, 100 DIV l.b, 0) AS q FROM few RIGHT JOIN $groups ON l.a = few.x"
    )
    withConf("spark.sql.ansi.enabled" -> "true", "spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      sides.foreach { side =>
        val query = s"SELECT s.a, s.q FROM ($side) s JOIN one t ON s.g = t.g AND s.a < t.z WHERE t.z < 5"
        assert(sameRows(spark.sql(query)).rows.size == 1, side)
      }
    }
  }

  test("an ORC scan gets the values of a list without its null, of which Spark dies") {
    spark.table("r").write.orc(folder.resolve("orc").toString)
    spark.read.orc(folder.resolve("orc").toString).createOrReplaceTempView("o")
    val lists = Seq("IN (5, NULL)", "IN (5, 4, 3, 2, 1, 0, 6, 7, 8, 9, 10, 11, NULL)")
    // Spark alone fails if the joins of these queries are inner ones.
    for (list <- lists; kind <- Seq("LEFT", "RIGHT"))
      sameRows(
        spark.sql(s"SELECT * FROM l $kind JOIN o ON l.k = o.k WHERE (l.part = 1 AND o.x $list) OR (l.part = 2 AND o.x IN (6, NULL))")
      )
    for (list <- lists ++ Seq("IN (NULL)", "NOT IN (5, NULL)"); kind <- Seq("INNER", "LEFT", "RIGHT"))
      sameRows(spark.sql(s"SELECT * FROM l $kind JOIN o ON l.k = o.k AND l.x = o.x WHERE l.k $list OR l.x = 3"))
  }

  adds(
    "comparisons in a chain bound the far end",
    "l",
    "SELECT * FROM l JOIN m JOIN r WHERE l.x < m.y AND m.y < r.x AND r.x < 5"
  )("x <= 2")
  adds(
    "a range given by columns of the other side has the other side's bounds",
    "l",
    "SELECT * FROM l JOIN r ON l.x BETWEEN r.x AND r.y WHERE r.x >= 3 AND r.y <= 4"
  )("x <= 4", "x >= 3")
  adds(
    "of a long list the greatest value is a bound",
    "l",
    s"SELECT * FROM l JOIN r ON l.k = r.k AND l.v < r.v WHERE r.v IN (${(10 until 70).map(i => s"'v$i'").mkString(", ")}, 'v2', NULL)"
  )("v < 'v69'")
  adds(
    "a distance in days moves a bound by it",
    "l",
    "SELECT * FROM l JOIN r ON l.d BETWEEN r.d AND r.d + 7 WHERE r.d BETWEEN DATE'2020-01-10' AND DATE'2020-01-20'"
  )("d <= DATE '2020-01-27'", "d >= DATE '2020-01-10'")
  adds(
    "a left outer join's condition bounds the right side",
    "r",
    "SELECT * FROM l LEFT JOIN r ON l.x < r.x WHERE l.x >= 4"
  )("x >= 5")
  adds(
    "an OR above a left outer join bounds the preserved side",
    "l",
    "SELECT * FROM l LEFT JOIN r ON l.k = r.k WHERE (l.x = 1 AND r.v IS NULL) OR (l.x = 2 AND r.v = 'v1')"
  )("x = 1 OR x = 2")
  adds("a semi join's condition bounds both sides", "l", "SELECT * FROM l LEFT SEMI JOIN r ON l.x < r.x AND r.x < 3")("x <= 1")
  adds("an anti join's condition bounds the right side", "r", "SELECT * FROM l LEFT ANTI JOIN r ON l.x < r.x WHERE l.x >= 3")("x >= 4")
  adds(
    "a predicate goes through an aggregate of the other side to its scan",
    "r",
    "SELECT * FROM l JOIN (SELECT x, count(*) AS n FROM r GROUP BY x) r ON l.x < r.x WHERE l.x >= 4"
  )("x >= 5")

  adds(
    "a predicate goes through the order of a subquery",
    "r",
    "SELECT * FROM l JOIN (SELECT * FROM r ORDER BY v) r ON l.x < r.x WHERE l.x >= 4"
  )("x >= 5")
  adds(
    "a predicate goes through an aggregate that renames its group",
    "r",
    "SELECT * FROM l JOIN (SELECT x AS z, count(*) AS n FROM r GROUP BY x) r ON l.x < r.z WHERE l.x >= 4"
  )("x >= 5")
  adds(
    "a predicate on what a window is partitioned by goes through it",
    "r",
    "SELECT * FROM l JOIN (SELECT x, count(*) OVER (PARTITION BY x) AS n FROM r) r ON l.x < r.x WHERE l.x >= 4"
  )("x >= 5")
  Seq("r", "m").foreach { table =>
    adds(
      s"a predicate goes through a union to $table",
      table,
      "SELECT * FROM l JOIN (SELECT x FROM r UNION ALL SELECT x FROM m) u ON l.x < u.x WHERE l.x >= 4"
    )("x >= 5")
  }
  adds(
    "a predicate on a column of the rows that are exploded goes below",
    "r",
    "SELECT * FROM l JOIN (SELECT x, explode(array(k, y)) AS e FROM r) r ON l.x < r.x WHERE l.x >= 4"
  )("x >= 5")

  test("a predicate is one filter with the query's own: a source is asked about the lowest alone") {
    val plan = planned("SELECT * FROM l JOIN r ON l.x < r.x AND r.x < 5 WHERE l.k = 1", "off").queryExecution.optimizedPlan
    val (changed, filters) = InferFilters(plan)
    assert(filters.nonEmpty && !changed.exists(node => node.isInstanceOf[Filter] && node.children.exists(_.isInstanceOf[Filter])), changed)
  }

  test("what several places read of one WITH query gets no predicate, which would save no reading") {
    val twice =
      "WITH c AS (SELECT x, rand(1) AS z FROM r) SELECT * FROM l JOIN c ON l.x < c.x JOIN c d ON l.x < d.x AND c.z = d.z WHERE l.x >= 4"
    assert(sameRows(spark.sql(twice)).predicates.isEmpty)
  }

  addsNothing("an anti join's condition bounds nothing on the left side", "SELECT * FROM l LEFT ANTI JOIN r ON l.x < r.x AND r.x < 3")
  addsNothing("a full outer join's condition bounds neither side", "SELECT * FROM l FULL JOIN r ON l.x < r.x AND r.x < 3")
  addsNothing("a left outer join's condition bounds nothing on the left side", "SELECT * FROM l LEFT JOIN r ON l.x < r.x AND r.x < 3")
  addsNothing("NOT IN bounds neither side", "SELECT * FROM l WHERE l.k NOT IN (SELECT r.k FROM r WHERE r.k < 3)")
  addsNothing("a sum that could overflow bounds nothing", "SELECT * FROM l JOIN r ON l.d < r.d - 7 WHERE r.d < DATE'2020-01-10'")
  addsNothing("floating-point columns bound nothing", "SELECT * FROM l JOIN r ON l.f < r.f WHERE r.f < 3")
  addsNothing(
    "a division, which could fail on other rows, is not moved",
    "SELECT * FROM l JOIN r ON l.k = r.k AND l.x = r.x WHERE l.k > 0 AND r.x > 0 AND (l.k / r.x > 2 OR r.x / l.k > 3)"
  )
  addsNothing("a random condition is not moved", "SELECT * FROM l JOIN r ON l.k = r.k AND l.x = r.x WHERE l.k = 1 OR rand() < 2 OR r.x = 2")

  test("a condition that tells equal values apart does not go below their grouping") {
    // 0.0 and -0.0 are one group.
    table("zeros", "SELECT CAST(concat(IF(id % 2 = 0, '', '-'), '0') AS double) AS f FROM range(60)", files = 1)
    Seq("count(*) AS n FROM zeros GROUP BY f", "count(*) OVER (PARTITION BY f) AS n FROM zeros").foreach { counted =>
      sameRows(spark.sql(
        s"SELECT l.n, r.k FROM (SELECT f, $counted) l LEFT JOIN r ON l.n = r.k " +
          "WHERE (CAST(l.f AS string) = '0.0' AND r.k IS NULL) OR (CAST(l.f AS string) = '1.0' AND r.k = 1)"
      ))
    }
  }

  test("the plan of a query is a fixed point of the optimizer") {
    val query =
      "SELECT * FROM l JOIN m JOIN r WHERE l.x < m.y AND m.y < r.x AND r.x < 5 AND (l.k = 1 AND r.v = 'v1' OR r.k = 2 AND l.v = 'v2')"
    val once = spark.sql(query).queryExecution.optimizedPlan
    assert(spark.sessionState.optimizer.execute(once).canonicalized == once.canonicalized)
  }

  test("no metastore is asked for partitions by a predicate that nobody wrote; Spark still prunes by it") {
    withConf("spark.aqePlugin.mode" -> "off") {
      spark.sql("CREATE TABLE catalogued (k INT, p STRING) USING parquet PARTITIONED BY (p)")
      spark.sql("INSERT INTO catalogued SELECT CAST(id AS int), concat('p', id % 10) FROM range(60)")
    }
    table("between", "SELECT concat('p', id) AS x FROM range(10)")
    table("above", "SELECT concat('p', id) AS y FROM range(4)")
    val query = "SELECT t.k FROM catalogued t JOIN between a ON t.p = a.x JOIN above b ON a.x <= b.y WHERE b.y <= 'p2'"
    val ran = sameRows(spark.sql(query))
    val scan = collectWithSubqueries(ran.plan) { case scan: FileSourceScanExec if scan.output.exists(_.name == "p") => scan }.head
    assert(scan.partitionFilters.exists(_.exists(_.isInstanceOf[RowCheck])) && scan.selectedPartitions.partitionCount == 3, scan)
    val bare = scan.partitionFilters.filter(_.isInstanceOf[BinaryComparison])
    assert(bare.isEmpty, scan)
  }

  test("an inferred predicate is an event, a row of aqe_predicates() and a count, once for each query") {
    val query = "SELECT count(*) FROM l JOIN r ON l.x < r.x WHERE r.x < 3"
    def counted: Long = spark.sql("SELECT value FROM aqe_metrics() WHERE name = 'predicates.INEQUALITY'").head().getLong(0)
    val before = counted
    val applied = ran(spark.sql(query)).predicates
    val observed = withConf("spark.aqePlugin.predicates.mode" -> "observe")(ran(spark.sql(query))).predicates
    assert((applied ++ observed).map(event => (event.table, event.predicate, event.inferredBy, event.applied)) ==
      Seq(("partitioned-l", "(x <= 1)", "INEQUALITY", true), ("partitioned-l", "(x <= 1)", "INEQUALITY", false)))
    assert(counted == before + 2)
    val rows = spark.sql("SELECT execution_id, table, predicate, applied FROM aqe_predicates()").collect().takeRight(2)
    assert(rows.map(row => (row.getLong(0), row.getString(1), row.getString(2), row.getBoolean(3))).toSeq ==
      (applied ++ observed).map(event => (event.executionId, event.table, event.predicate, event.applied)))
    assert(ran(spark.sql("SELECT count(*) FROM l JOIN r ON l.k = r.k WHERE r.x < 3")).predicates.isEmpty)
  }

  test("mode observe and mode off leave Spark's plan") {
    val query = "SELECT * FROM l JOIN r ON l.x < r.x WHERE r.x < 3"
    def plan = spark.sql(query).queryExecution.optimizedPlan.canonicalized
    val off = withConf("spark.aqePlugin.predicates.mode" -> "off")(plan)
    assert(withConf("spark.aqePlugin.predicates.mode" -> "observe")(plan) == off)
    assert(withConf("spark.aqePlugin.mode" -> "observe")(plan) == off)
    assert(withConf("spark.aqePlugin.mode" -> "off")(plan) == off)
    assert(plan != off)
  }
}
