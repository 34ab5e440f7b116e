package io.aqeplugin.e2e

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{FilterExec, SparkPlan}
import org.apache.spark.sql.execution.joins.{BaseJoinExec, CartesianProductExec}
import org.scalatest.{DoNotDiscover, Suite}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.AqePlugin
import io.aqeplugin.exec.KeyRowsExec
import io.aqeplugin.observe.{Comet, Engines, LoweredFilters}
import io.aqeplugin.plugin.{AqeEngineExtensions, AqeExtensions}
import io.aqeplugin.rules.WithoutWaiting

/** An application in which Apache DataFusion Comet carries out what Spark plans. */
trait CometSession extends PluginSession { this: Suite =>

  /** The plugins in the user's order. */
  protected def plugins: Seq[String] = Seq(CometSession.Plugin, classOf[AqePlugin].getName)

  override protected def applicationConf: Map[String, String] = super.applicationConf ++ Map(
    "spark.plugins" -> plugins.mkString(","),
    "spark.shuffle.manager" -> "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
    "spark.memory.offHeap.enabled" -> "true",
    "spark.memory.offHeap.size" -> "512m"
  )

  /** The operators that ran, subqueries apart. */
  protected def operators(frame: DataFrame): Seq[String] =
    collect(frame.queryExecution.executedPlan) { case node => node.getClass.getName }
}

object CometSession {
  private[e2e] val Plugin = "org.apache.spark.CometPlugin"
  private[e2e] val Operators = "org.apache.spark.sql.comet."
}

/** Joins that Comet carries out. */
class CometSuite extends AnyFunSuite with CometSession {
  import CometSession.Operators

  override protected def applicationConf: Map[String, String] = super.applicationConf + ("spark.sql.autoBroadcastJoinThreshold" -> "-1")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id % 900 AS k, id AS v, 'n' || (id % 900) AS name FROM range(20000)", files = 2)
    table("dim", "SELECT id * 9 AS dk, id % 7 AS kind, 'n' || (id * 9) AS dname, CAST(id * 9 AS int) AS narrow FROM range(200)")
    table("price", "SELECT CAST(id AS decimal(9, 2)) AS amount, id % 7 AS kind FROM range(200)")
    spark.range(2000).selectExpr("id AS x", "id % 20 AS p").write.partitionBy("p").parquet(folder.resolve("parts").toString)
    spark.read.parquet(folder.resolve("parts").toString).createOrReplaceTempView("parts")
    table("text", "SELECT id * 3 AS tk, 'n' || id AS name FROM range(300)", format = "csv")
  }

  private val Queries = Seq(
    "a join of two shuffles" -> "SELECT v, kind FROM fact JOIN dim ON k = dk WHERE kind < 3",
    "a broadcast join" -> "SELECT /*+ BROADCAST(dim) */ v, kind FROM fact JOIN dim ON k = dk WHERE kind < 3",
    "a hashed join below an aggregate" ->
      "SELECT /*+ SHUFFLE_HASH(dim) */ kind, count(v) FROM fact JOIN dim ON k = dk WHERE kind < 3 GROUP BY kind",
    "an outer, a semi and an anti join" ->
      """SELECT * FROM fact LEFT JOIN dim ON k = dk AND kind < 3
        |WHERE k IN (SELECT tk FROM text) AND v NOT IN (SELECT dk FROM dim WHERE dk IS NOT NULL)""".stripMargin,
    "a join with a table that Comet does not read" -> "SELECT v, text.name FROM fact JOIN text ON k = tk WHERE text.name < 'n2'",
    "a join of two tables that Comet does not read" -> "SELECT a.name FROM text a JOIN text b ON a.tk = b.tk WHERE b.name < 'n2'",
    "a join by a range" -> "SELECT count(*) FROM fact JOIN dim ON v BETWEEN dk AND dk + 3 WHERE kind < 3",
    "a partition column that Spark prunes dynamically" ->
      "SELECT /*+ BROADCAST(dim) */ x FROM parts JOIN dim ON p = dk WHERE kind = 3 UNION ALL SELECT v FROM fact WHERE k = (SELECT max(dk) FROM dim)",
    "a predicate across a join that only rows are checked by" ->
      "SELECT /*+ BROADCAST(dim) */ v FROM fact JOIN dim ON k = dk WHERE (name < 'n2' AND kind = 1) OR (name > 'n7' AND kind = 2)",
    "a limit" -> "SELECT v FROM fact WHERE k < 5 LIMIT 3"
  )

  // Around operators, not operators.
  private val Wrappers = Seq("WholeStageCodegenExec", "InputAdapter")

  private def ranIn(mode: String, query: String): (Seq[String], Seq[String]) =
    withConf("spark.aqePlugin.mode" -> mode, "spark.aqePlugin.test.openGates" -> "true") {
      val frame = spark.sql(query)
      (multiset(frame), operators(frame))
    }

  for ((what, query) <- Queries)
    test(s"$what has the rows that Comet gives alone, and no operator falls back to Spark because of the plugin") {
      val _ = sameRows(spark.sql(query))
      val (rows, alone) = ranIn("off", query)
      val (same, beside) = ranIn("apply", query)
      assert(same == rows)
      assert(alone.exists(_.startsWith(Operators)), alone)
      def bySpark(operators: Seq[String]): Map[String, Int] =
        operators.filterNot(operator => operator.startsWith(Operators) || Wrappers.exists(operator.endsWith)).groupBy(identity).map {
          case (operator, all) => operator -> all.size
        }
      val before = bySpark(alone)
      // Where Spark filters a scan that Comet does not read, one more operator filters it by keys.
      def isKept(operator: String, count: Int): Boolean =
        before.get(operator).exists(count <= _ || operator == classOf[FilterExec].getName)
      assert(bySpark(beside).forall { case (operator, count) => isKept(operator, count) }, beside)
    }

  private val FilteredQueries = Seq(
    "a join of two shuffles" -> Queries.head._2,
    "a broadcast join" -> Queries(1)._2,
    "a key of another width" -> "SELECT v FROM fact JOIN dim ON k = narrow WHERE kind < 3",
    "a text" -> "SELECT v FROM fact JOIN dim ON name = dname WHERE kind < 3",
    "two columns" -> "SELECT v FROM fact JOIN dim ON k = dk AND name = dname WHERE kind < 3",
    "few keys" -> "SELECT v FROM fact JOIN dim ON k = dk WHERE dk < 50"
  )

  for ((what, query) <- FilteredQueries)
    test(s"by $what, Comet drops rows without a partner, and its counts are the filter's") {
      val result = sameRows(spark.sql(query))
      val ofFact = outcomes(result).filter(_.get("table").textValue.contains("fact"))
      assert(ofFact.size == 1, result.plan)
      assert(ofFact.head.get("kind").textValue == "spark_bloom", result.ended)
      assert(ofFact.head.get("rowsIn").asLong > 0 && ofFact.head.get("rowsOut").asLong < ofFact.head.get("rowsIn").asLong / 2, result.ended)
      assert(filters(result.plan).isEmpty, "an operator of the plugin's is left in Comet's plan")
    }

  for (
    (sqlType, key) <- Seq(
      "tinyint" -> "CAST(id % 120 - 60 AS tinyint)",
      "smallint" -> "CAST(id % 900 - 400 AS smallint)",
      "int" -> "CAST((id % 900) * 1000003 AS int)",
      "bigint" -> "(id % 900 - 450) * 10000000000037",
      "date" -> "date_add(DATE '1890-01-01', CAST(id % 900 * 97 AS int))",
      "timestamp" -> "timestamp_micros((id % 900 - 450) * 86400000000037)",
      "timestamp_ntz" -> "CAST(timestamp_micros((id % 900 - 450) * 86400000000037) AS timestamp_ntz)",
      "string" -> "CASE WHEN id % 900 = 0 THEN '' ELSE repeat('ä' || (id % 900), CAST(id % 40 AS int)) END"
    )
  )
    test(s"Comet hashes keys of the type $sqlType as Spark does: no row with a partner is dropped") {
      table("typed", s"SELECT $key AS c, id AS v FROM range(20000) UNION ALL SELECT NULL, id FROM range(50)", files = 2)
      table("keys", s"SELECT DISTINCT $key AS c FROM range(900) WHERE id % 5 = 0")
      val result = sameRows(spark.sql("SELECT count(*), sum(v) FROM typed JOIN keys ON typed.c = keys.c"))
      val ofTyped = outcomes(result).filter(_.get("table").textValue.contains("typed"))
      assert(ofTyped.map(_.get("kind").textValue) == Seq("spark_bloom"), result.plan)
      assert(ofTyped.forall(one => one.get("rowsOut").asLong < one.get("rowsIn").asLong / 2), result.ended)
    }

  test("the plan's text has neither the filter's bytes nor a list of its keys") {
    val ran = sameRows(spark.sql(Queries.head._2)).plan
    val plan = ran.toString
    // One of the keys, and no number of a column or an operator.
    assert(plan.contains("might_contain") && "(?<![#=\\d])891(?!\\d)".r.findFirstIn(plan).isEmpty, plan)
    val known = collectWithSubqueries(ran) { case keys: KeyRowsExec => keys.verboseStringWithOperatorId() }
    assert(known.nonEmpty && known.forall(_.contains("Arguments: 1 of keys\n")), known)
  }

  test("a filter that drops every row says so") {
    table("even", "SELECT id % 450 * 2 AS k, id AS v FROM range(20000)")
    table("odd", "SELECT id * 80 + 1 AS dk FROM range(10)")
    val result = sameRows(spark.sql("SELECT v FROM even JOIN odd ON k = dk"))
    val ofEven = outcomes(result).filter(_.get("table").textValue.contains("even"))
    assert(ofEven.map(_.get("rowsOut").asLong) == Seq(0L) && ofEven.head.get("rowsIn").asLong > 0, result.plan)
  }

  test("a query that was planned before it runs gets its filter, or runs without one when the plugin is off by then") {
    for (mode <- Seq("apply", "off")) {
      val expected = withoutPlugin(spark.sql(FilteredQueries.head._2))
      val frame = spark.sql(FilteredQueries.head._2)
      withConf("spark.aqePlugin.test.openGates" -> "true")(assert(frame.queryExecution.executedPlan.toString.contains("waits for")))
      withConf("spark.aqePlugin.test.openGates" -> "true", "spark.aqePlugin.mode" -> mode) {
        assert(multiset(frame) == expected, frame.queryExecution.executedPlan)
        assert(frame.queryExecution.executedPlan.toString.contains("might_contain") == (mode == "apply"), frame.queryExecution.executedPlan)
      }
    }
  }

  test("few keys of which one is no literal are still checked one by one") {
    table("days", "SELECT date_add(DATE '2000-01-01', CAST(id % 900 AS int)) AS day, id AS v FROM range(20000)", files = 2)
    table("some", "SELECT explode(array(DATE '0001-01-01', DATE '2000-01-03', DATE '2002-05-01')) AS day")
    val result = sameRows(spark.sql("SELECT v FROM days LEFT SEMI JOIN some ON days.day = some.day"))
    val ofDays = outcomes(result).filter(_.get("table").textValue.contains("days"))
    assert(ofDays.size == 1 && ofDays.head.get("rowsOut").asLong < ofDays.head.get("rowsIn").asLong / 10, result.plan)
  }

  test("where Comet may not carry filters out, joins are left alone") {
    for (key <- Seq("exec.filter", "expression.XxHash64", "expression.BloomFilterMightContain"))
      withConf(s"spark.comet.$key.enabled" -> "false") {
        val result = sameRows(spark.sql(Queries.head._2))
        assert(outcomes(result).isEmpty && !result.plan.toString.contains("might_contain"), result.plan)
      }
  }

  test("a limit that Comet carries out is told, and left to it") {
    for (query <- Seq("SELECT v FROM fact WHERE k < 5 LIMIT 3", "SELECT v FROM fact ORDER BY k LIMIT 3")) {
      val told = withPlugin(spark.sql(query)).limits.map(_.decision.get("reason"))
      assert(told.map(_.get("code").textValue) == Seq("LIMIT_SOURCE"), query)
      assert(told.forall(_.get("subject").textValue == "Comet"), told)
    }
  }

  test("a build side of many rows with few keys makes a small filter") {
    table("visits", "SELECT id % 30 * 9 AS dk, id AS visit FROM range(100000)")
    val result = sameRows(spark.sql("SELECT count(v) FROM visits LEFT JOIN fact ON k = dk"))
    val ofFact = outcomes(result).filter(_.get("table").textValue.contains("fact"))
    assert(ofFact.size == 1 && ofFact.head.get("filterBytes").asLong < 1000, s"${result.decided} ${result.plan}")
    assert(ofFact.head.get("rowsOut").asLong < ofFact.head.get("rowsIn").asLong / 2, ofFact)
  }

  test("a filter waits for a build side whose rows wait for a filter themselves") {
    table("returns", "SELECT id AS rv, id % 3 AS why FROM range(20000)", files = 2)
    val result = sameRows(spark.sql(
      "SELECT count(rv) FROM (SELECT v FROM fact JOIN dim ON k = dk WHERE kind < 3) sold LEFT JOIN returns ON v = rv"
    ))
    val ofReturns = outcomes(result).filter(_.get("table").textValue.contains("returns"))
    assert(ofReturns.size == 1 && ofReturns.head.get("rowsOut").asLong < ofReturns.head.get("rowsIn").asLong / 2, result.plan)
    assert(outcomes(result).exists(_.get("table").textValue.contains("fact")), result.plan)
  }

  test("what still waits when a stage begins is taken out where Comet runs it, and stays where Spark does") {
    withConf("spark.aqePlugin.test.openGates" -> "true") {
      for ((probe, stay) <- Seq("fact JOIN dim ON k = dk" -> 0, "text LEFT SEMI JOIN dim ON tk = dk AND kind < 3" -> 1)) {
        val planned = stripAQEPlan(spark.sql(s"SELECT * FROM $probe").queryExecution.executedPlan)
        assert(filters(planned).size == 1 && filters(WithoutWaiting(planned)).size == stay, planned)
      }
    }
  }

  test("AQE does not take a shuffle of filtered rows for the join above it, to which Comet links all that has no link") {
    val query = "SELECT name FROM (SELECT name, 9 * count(*) AS n FROM text GROUP BY name) WHERE n IN (SELECT dk FROM dim WHERE kind < 3)"
    val filters = collect(sameRows(spark.sql(query)).plan) { case node if LoweredFilters.below(node).isDefined => node }
    assert(filters.nonEmpty && filters.forall(_.logicalLink.isEmpty), filters.map(_.logicalLink))
  }

  test("a key that Comet does not hash as Spark does gets no filter, with the reason") {
    val result =
      sameRows(spark.sql("SELECT v FROM (SELECT CAST(k AS decimal(9, 2)) AS d, v FROM fact) JOIN price ON d = amount WHERE kind < 3"))
    assert(outcomes(result).isEmpty, result.ended)
    assert(result.decided.map(_.decision.path("filterReason").path("code").asText) == Seq("ENGINE_KEY"), result.decided)
    assert(result.decided.map(_.decision.path("facts").path("engine").asText) == Seq("Comet"), result.decided)
  }

  test("EXPLAIN does not call Comet foreign where a plan has no join to decide") {
    val explained = spark.sql("EXPLAIN SELECT count(v) FROM fact WHERE k < 5").head().getString(0)
    assert(explained.contains(Operators.split('.').last.capitalize), explained)
    assert(!explained.contains("FOREIGN_NODE"), explained)
  }

  /** Of a product, nothing is decided. */
  private def isJoin(plan: SparkPlan): Boolean = plan.isInstanceOf[BaseJoinExec] && !plan.isInstanceOf[CartesianProductExec]

  test("EXPLAIN has a line for each join that Comet carries out") {
    for (query <- Queries.map(_._2) :+ "SELECT count(v) FROM fact JOIN dim ON upper(name) = upper(dname) WHERE kind < 3") {
      val said = spark.sql(s"EXPLAIN $query").head().getString(0)
      val joins = collectWithSubqueries(spark.sql(query).queryExecution.executedPlan) {
        case node if isJoin(Engines.original(node)) => node
      }
      assert(said.linesIterator.count(line => line.contains("Spark: ") || line.contains("not decided yet")) == joins.size, said)
    }
  }

  test("Comet off and on between queries of one session") {
    for (on <- Seq("true", "false", "true"))
      withConf("spark.comet.enabled" -> on) {
        val result = sameRows(spark.sql(Queries.head._2))
        assert(filtered(result).nonEmpty == (on == "false"), result.plan)
        assert(outcomes(result).exists(one => one.get("rowsOut").asLong < one.get("rowsIn").asLong), result.ended)
      }
  }

  test("a cached table, of which Comet reads the rows that Spark has kept") {
    spark.sql("CACHE TABLE kept AS SELECT dk, kind FROM dim")
    spark.sql("CACHE TABLE facts AS SELECT k, v FROM fact")
    try {
      val ofKept = sameRows(spark.sql("SELECT v FROM fact JOIN kept ON k = dk WHERE kind < 3"))
      assert(outcomes(ofKept).exists(one => one.get("rowsOut").asLong < one.get("rowsIn").asLong / 2), ofKept.decided)
      val result = sameRows(spark.sql("SELECT v FROM facts JOIN dim ON k = dk WHERE kind < 3"))
      assert(outcomes(result).exists(one => one.get("rowsOut").asLong < one.get("rowsIn").asLong / 2), result.ended)
    } finally Seq("kept", "facts").foreach(table => spark.sql(s"UNCACHE TABLE $table"))
  }
}

/** The plugins in one order, of which the result does not depend. */
abstract class CometOrderSuite(override val plugins: String*) extends AnyFunSuite with CometSession {

  test("the plugin's rules stand before Comet's, and what waits behind them") {
    val extensions = spark.sparkContext.getConf.get("spark.sql.extensions").split(',').toSeq
    assert(extensions == Seq(classOf[AqeExtensions].getName, Comet.extension, classOf[AqeEngineExtensions].getName))
  }

  test("Comet drops rows by a filter of the plugin's") {
    table("fact", "SELECT id % 900 AS k, id AS v FROM range(20000)")
    table("dim", "SELECT id * 9 AS dk, id % 7 AS kind FROM range(200)")
    val result = sameRows(spark.sql("SELECT v FROM fact JOIN dim ON k = dk WHERE kind < 3"))
    assert(outcomes(result).exists(one => one.get("rowsOut").asLong < one.get("rowsIn").asLong / 2), result.ended)
  }
}

class CometBehindSuite extends CometOrderSuite(classOf[AqePlugin].getName, CometSession.Plugin)

class CometBeforeSuite extends CometOrderSuite(CometSession.Plugin, classOf[AqePlugin].getName)

/** The truth table of joins, by Comet: `make test-comet`. */
@DoNotDiscover
class CometJoinMatrixSuite extends JoinMatrixSuite with CometSession {
  override protected def isSparks: Boolean = false
}

/** The random queries, by Comet; all of them by `make test-comet`. */
class CometRandomQueriesSuite extends RandomQueriesSuite with CometSession {
  override protected def computes: Boolean = false
}
