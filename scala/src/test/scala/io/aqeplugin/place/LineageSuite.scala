package io.aqeplugin.place

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, BroadcastQueryStageExec}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, BroadcastNestedLoopJoinExec}
import org.apache.spark.sql.execution.python.{MapInArrowExec, MapInPandasExec}
import org.apache.spark.sql.functions.{column, count, lit}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.{PluginSession, Ran}

/** What each operator between a scan and a join does with the keys. If the keys go through it, the scan gets a filter, otherwise not; the
  * rows are the same in both cases.
  */
class LineageSuite extends AnyFunSuite with PluginSession {

  override protected def applicationConf: Map[String, String] = Map("spark.sql.autoBroadcastJoinThreshold" -> "-1")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    val columns = "CAST(id % 90 AS int) AS k, CAST(id % 13 AS int) AS v, 's' || (id % 7) AS s, array(CAST(id % 5 AS int), 3) AS arr"
    table("fact", s"SELECT $columns FROM range(300)", files = 2)
    table("other", "SELECT CAST(id % 40 AS int) AS ok, CAST(id % 11 AS int) AS ov, 'o' || id AS os FROM range(100)")
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, 'd' || id AS name FROM range(4)")
  }

  /** The filters that the join with `dim` placed on scans. */
  private def fromDim(ran: Ran): Seq[String] =
    outcomes(ran).filter(_.path("joinId").asText.contains("dk")).map { outcome =>
      s"${tableOf(outcome.path("table").asText)}(${outcome.path("scanColumns").elements().asScala.map(_.asText).mkString})"
    }.distinct.sorted

  private def tableOf(path: String): String = path.stripPrefix("parquet-")

  /** A left join, because only its right side may be filtered, however small that side is. */
  private def joined(probe: String, key: String): DataFrame = spark.sql(s"SELECT * FROM dim LEFT JOIN ($probe) p ON dim.dk = p.$key")

  private def crossed(what: String, probe: String, key: String = "k")(scans: String*): Unit =
    test(s"keys go through $what") {
      assert(fromDim(sameRows(joined(probe, key))) == scans.sorted)
    }

  /** The operator above that stops the keys is below an exchange: that of the join itself. */
  private def notCrossed(what: String, probe: String, key: String = "k")(inFrontOfExchange: String*): Unit =
    test(s"keys do not go through $what") {
      assert(fromDim(sameRows(joined(probe, key))) == inFrontOfExchange)
    }

  crossed("a projection that renames them", "SELECT v, k AS j FROM fact", "j")("fact(k)")
  crossed("a cast that loses nothing", "SELECT v, CAST(k AS bigint) AS k FROM fact")("fact(k)")
  crossed("a projection that computes them from a column", "SELECT v, k + 1 AS k FROM fact")("fact((k + 1))")
  notCrossed("a projection that computes them from two columns", "SELECT v, k + v AS k FROM fact")("(shuffle)(k)")
  notCrossed("a projection with rand", "SELECT k, v, rand(1) AS r FROM fact")("(shuffle)(k)")
  notCrossed("a projection with monotonically_increasing_id", "SELECT k, v, monotonically_increasing_id() AS r FROM fact")("(shuffle)(k)")
  notCrossed("a projection with spark_partition_id", "SELECT k, v, spark_partition_id() AS r FROM fact")("(shuffle)(k)")
  notCrossed("a projection with input_file_name", "SELECT k, v, input_file_name() AS r FROM fact")("(shuffle)(k)")

  crossed("a filter", "SELECT * FROM fact WHERE v % 2 = 0")("fact(k)")
  crossed("a filter with a scalar subquery", "SELECT * FROM fact WHERE v < (SELECT max(ov) - 3 FROM other)")("fact(k)")
  notCrossed("a filter that is not deterministic", "SELECT * FROM fact WHERE rand(1) < 0.5")("(shuffle)(k)")

  crossed("a shuffle by another column", "SELECT /*+ REPARTITION(3, v) */ * FROM fact")("fact(k)")
  crossed("the sorts and shuffles of another join", "SELECT k, v, os FROM fact JOIN other ON v = ov")("fact(k)")

  crossed("an aggregate, when they are its grouping keys", "SELECT k, sum(v) AS n FROM fact GROUP BY k")("fact(k)")
  crossed("an aggregate, when they are among its grouping keys", "SELECT k AS j, v, count(*) AS n FROM fact GROUP BY k, v", "j")("fact(k)")
  crossed("an aggregate of objects", "SELECT k, collect_set(v) AS n FROM fact GROUP BY k")("fact(k)")
  crossed("a sort aggregate", "SELECT k, max(s) AS n FROM fact GROUP BY k")("fact(k)")
  crossed("DISTINCT", "SELECT DISTINCT k, v FROM fact")("fact(k)")
  crossed("one count(DISTINCT)", "SELECT k, count(DISTINCT v) AS n FROM fact GROUP BY k")("fact(k)")
  notCrossed("an aggregate that computes them", "SELECT v, max(k) AS k FROM fact GROUP BY v")("(shuffle)(k)")
  crossed(
    "an aggregate that groups by an expression of them",
    "SELECT k % 50 AS k, count(*) AS n FROM fact GROUP BY k % 50"
  )("fact((k % 50))")
  notCrossed(
    "an aggregate that groups by an expression of two of them",
    "SELECT k + v AS k, count(*) AS n FROM fact GROUP BY k + v"
  )("(shuffle)(_groupingexpression)")
  test("keys do not go through an aggregate that numbers its groups") {
    def query = joined("SELECT k, monotonically_increasing_id() AS r, count(*) AS n FROM fact GROUP BY k", "k")
    // The numbers are those of the same partitions.
    val expected = withConf("spark.aqePlugin.mode" -> "off")(multiset(query))
    val ran = withPlugin(query)
    assert(ran.rows == expected && fromDim(ran).isEmpty, ran.plan)
  }
  notCrossed("a global aggregate", "SELECT max(k) - 80 AS k, count(*) AS n FROM fact")()
  notCrossed(
    "two count(DISTINCT), which expand rows",
    "SELECT k, count(DISTINCT v) AS n, count(DISTINCT s) AS m FROM fact GROUP BY k"
  )("(shuffle)(k)")
  notCrossed("CUBE", "SELECT k, v, count(*) AS n FROM fact GROUP BY CUBE(k, v)")("(shuffle)(k)")
  notCrossed("GROUPING SETS", "SELECT k, v, count(*) AS n FROM fact GROUP BY GROUPING SETS ((k), (v), ())")("(shuffle)(k)")

  crossed("a window partitioned by them", "SELECT k, v, sum(v) OVER (PARTITION BY k) AS n FROM fact")("fact(k)")
  crossed("a window partitioned by them and more", "SELECT k, v, s, count(*) OVER (PARTITION BY k, v) AS n FROM fact")("fact(k)")
  notCrossed("a window partitioned by something else", "SELECT k, v, count(*) OVER (PARTITION BY v) AS n FROM fact")("(shuffle)(k)")
  notCrossed("a window without partitions", "SELECT k, v, row_number() OVER (ORDER BY k, v, s) AS n FROM fact")("(shuffle)(k)")

  crossed("UNION ALL by position, not by name", "SELECT k, v FROM fact UNION ALL SELECT ov AS v, ok AS k FROM other")(
    "fact(k)",
    "other(ov)"
  )
  crossed("UNION ALL of a table with itself", "SELECT k, v FROM fact UNION ALL SELECT v, k FROM fact")("fact(k)", "fact(v)")
  crossed("those branches of UNION ALL that can be crossed", "SELECT k, v FROM fact UNION ALL SELECT max(ok), 1 FROM other")("fact(k)")
  crossed("UNION", "SELECT k, v FROM fact UNION SELECT ok, ov FROM other")("fact(k)", "other(ok)")

  crossed("an inner join to its left side", "SELECT k, os FROM fact JOIN other ON v = ov")("fact(k)")
  crossed("an inner join to its right side", "SELECT v, ok FROM fact JOIN other ON v = ov", "ok")("other(ok)")
  crossed("an inner join to both sides of its own key", "SELECT v, s, os FROM fact JOIN other ON v = ov", "v")("fact(v)", "other(ov)")
  crossed("a cross join", "SELECT k, n FROM fact CROSS JOIN (SELECT count(*) AS n FROM other)")("fact(k)")
  crossed("a semi join", "SELECT k, v FROM fact LEFT SEMI JOIN other ON v = ov AND s <> os")("fact(k)")
  crossed("a semi join to both sides of its own key", "SELECT v, s FROM fact LEFT SEMI JOIN other ON v = ov", "v")("fact(v)", "other(ov)")
  crossed("an anti join", "SELECT k, v FROM fact LEFT ANTI JOIN other ON v = ov AND os > 'o5'")("fact(k)")
  crossed("an anti join to both sides of its own key", "SELECT v, s FROM fact LEFT ANTI JOIN other ON v = ov AND os > 'o5'", "v")(
    "fact(v)",
    "other(ov)"
  )
  crossed("EXISTS under OR", "SELECT * FROM fact WHERE EXISTS (SELECT 1 FROM other WHERE ov = v AND os > 'o5') OR v < 2")("fact(k)")

  // Spark 4.2 plans some NOT IN as a plain anti join.
  test("keys go through NOT IN only if its join is not null-aware") {
    val result = sameRows(joined("SELECT * FROM fact WHERE v NOT IN (SELECT ov FROM other WHERE ov < 7)", "k"))
    val isNullAware = collect(result.plan) {
      case loop: BroadcastNestedLoopJoinExec                       => loop
      case hash: BroadcastHashJoinExec if hash.isNullAwareAntiJoin => hash
    }.nonEmpty
    assert(fromDim(result) == (if (isNullAware) Seq("(shuffle)(k)") else Seq("fact(k)")), result.plan)
  }

  // Spark turns outer joins below a null-rejecting join into inner joins; without those rules they remain.
  private def outer(what: String, probe: String, key: String)(scans: String*): Unit =
    test(s"keys go through $what") {
      val rules = Seq("EliminateOuterJoin", "InferFiltersFromConstraints").map("org.apache.spark.sql.catalyst.optimizer." + _)
      withConf("spark.sql.optimizer.excludedRules" -> rules.mkString(",")) {
        assert(fromDim(sameRows(joined(probe, key))) == scans.sorted)
      }
    }

  outer("a left join to its preserved side", "SELECT k, ok FROM fact LEFT JOIN other ON v = ov", "k")("fact(k)")
  outer("a left join to its null-supplying side", "SELECT k, ok FROM fact LEFT JOIN other ON v = ov AND k < 50", "ok")("other(ok)")
  outer("a left join to both sides of its own key", "SELECT v, os FROM fact LEFT JOIN other ON v = ov", "v")("fact(v)", "other(ov)")
  outer("a right join to its preserved side", "SELECT k, ok FROM fact RIGHT JOIN other ON v = ov", "ok")("other(ok)")
  outer("a right join to its null-supplying side", "SELECT k, ok FROM fact RIGHT JOIN other ON v = ov AND ok < 30", "k")("fact(k)")
  outer("no full join", "SELECT k, ok FROM fact FULL JOIN other ON v = ov", "k")("(shuffle)(k)")

  crossed("a shuffle by a range", "SELECT /*+ REPARTITION_BY_RANGE(3, v) */ * FROM fact")("fact(k)")
  notCrossed("a shuffle that distributes rows by position", "SELECT /*+ REPARTITION(3) */ * FROM fact")("(shuffle)(k)")

  notCrossed("a limit", "SELECT * FROM fact ORDER BY v, k, s LIMIT 70")("(shuffle)(k)")
  notCrossed("an offset", "SELECT * FROM fact ORDER BY v, k, s LIMIT 70 OFFSET 20")("(shuffle)(k)")
  notCrossed("a sample", "SELECT * FROM fact TABLESAMPLE (50 PERCENT) REPEATABLE (7)")("(shuffle)(k)")
  notCrossed("a generator", "SELECT k, v, x FROM fact LATERAL VIEW explode(arr) AS x")("(shuffle)(k)")
  notCrossed("the output of a generator", "SELECT v, x AS k FROM fact LATERAL VIEW explode(arr) AS x")("(shuffle)(k)")
  crossed(
    "INTERSECT, to its left side only: its own keys treat nulls as equal",
    "SELECT k, v FROM fact INTERSECT SELECT ok, ov FROM other"
  )("fact(k)")

  test("keys do not go through a map over partitions") {
    val session = spark
    import session.implicits._
    def probe: DataFrame = spark.sql("SELECT k, v FROM fact").as[(Int, Int)].mapPartitions { rows =>
      rows.zipWithIndex.map { case ((k, _), i) => (k, i) }
    }.toDF("k", "place")
    val result = sameRows(probe.join(spark.table("dim")).where("k = dk"))
    assert(!fromDim(result).exists(_.startsWith("fact")))
  }

  test("keys do not go through a map of Python over batches") {
    val scan = spark.table("fact").queryExecution.sparkPlan
    for (
      node <- Seq(MapInArrowExec(Literal(1), scan.output, scan, false, None), MapInPandasExec(Literal(1), scan.output, scan, false, None))
    )
      assert(Lineage.steps(node, scan.output.take(1)) == Nil)
  }

  test("the joins above observed metrics are only observed: AQE loses the metrics where no row is left") {
    table("no_partner", "SELECT CAST(id + 1000 AS int) AS dk FROM range(4)")
    val observed = spark.table("fact").observe("counted", count(lit(1)).as("rows"))
    for {
      (dimension, kind) <- Seq("no_partner" -> "left", "no_partner" -> "inner", "dim" -> "inner")
      isExplainedBefore <- Seq(false, true)
    } {
      val frame = spark.table(dimension).join(observed, column("k") === column("dk"), kind)
      val result = withPlugin {
        if (isExplainedBefore) { val _ = frame.queryExecution.executedPlan }
        frame
      }
      assert(frame.queryExecution.observedMetrics.get("counted").map(_.getLong(0)).contains(300L), s"$kind join with $dimension")
      assert(fromDim(result).isEmpty && result.decided.forall(_.mode == "observe"), result.plan)
    }
  }

  test("metrics that are observed above all joins leave the filters") {
    val frame = spark.table("fact").join(spark.table("dim")).where("k = dk").observe("counted", count(lit(1)).as("rows"))
    val result = withPlugin(frame)
    assert(fromDim(result) == Seq("fact(k)") && frame.queryExecution.observedMetrics("counted").getLong(0) == result.rows.size)
  }

  test("keys go above a cached table and not into what it keeps") {
    spark.sql("CACHE TABLE kept AS SELECT * FROM fact")
    try {
      val result = sameRows(joined("SELECT * FROM kept", "k"))
      assert(fromDim(result) == Seq("kept(k)"))
      assert(spark.table("kept").count() == 300L)
    } finally {
      val _ = spark.sql("UNCACHE TABLE kept")
    }
  }

  test("a cached query that was planned with filters has all of its rows") {
    def query: DataFrame = joined("SELECT * FROM fact", "k")
    val expected = withoutPlugin(query)
    val cached = withConf("spark.aqePlugin.test.openGates" -> "true")(query.cache())
    try assert(withPlugin(cached.where("v >= 0")).rows == expected)
    finally {
      val _ = cached.unpersist(blocking = true)
    }
  }

  test("rows of an RDD are filtered like those of any scan") {
    val session = spark
    import session.implicits._
    def probe: DataFrame = session.sparkContext.parallelize((0 until 200).map(i => (i % 50, i)), 2).toDF("k", "v")
    val result = sameRows(probe.join(spark.table("dim")).where("k = dk"))
    val onRdd = outcomes(result).filter(_.path("joinId").asText.contains("dk"))
    assert(onRdd.map(o => o.path("rowsIn").asLong -> o.path("rowsOut").asLong) == Seq(200L -> 16L), outcomes(result))
  }

  test("keys go through the broadcast of another join") {
    val probe = "SELECT /*+ BROADCAST(fact) */ k, v, os FROM fact JOIN other ON v = ov"
    val result = sameRows(joined(probe, "k"))
    assert(collect(result.plan) { case j: BroadcastHashJoinExec => j }.nonEmpty, result.plan)
    assert(fromDim(result) == Seq("fact(k)"))
    val exchange = collect(result.plan) { case stage: BroadcastQueryStageExec => stage.broadcast }.collectFirst {
      case broadcast: BroadcastExchangeExec => broadcast
    }.getOrElse(fail(s"no broadcast in\n${result.plan}"))
    assert(Lineage.steps(exchange, exchange.output.take(1)) == Seq(Lineage.Step(exchange.child, exchange.output.take(1))))
  }

  test("keys go through the reads that AQE puts on a finished shuffle") {
    val result = sameRows(spark.sql("SELECT v, count(*) AS n FROM fact GROUP BY v"))
    val read = collect(result.plan) { case read: AQEShuffleReadExec => read }.headOption.getOrElse(fail(s"no read in\n${result.plan}"))
    assert(Lineage.steps(read, read.output.take(1)) == Seq(Lineage.Step(read.child, read.output.take(1))))
  }
}
