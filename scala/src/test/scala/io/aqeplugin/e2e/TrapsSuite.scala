package io.aqeplugin.e2e

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.aqeplugin.Relations
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, SortMergeJoinExec}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.exec.{FilterSource, RuntimeFilterExchangeExec}
import io.aqeplugin.place.FilterLink

/** What went wrong once while the mechanism was found; each test is named after the trap. */
class TrapsSuite extends AnyFunSuite with PluginSession {
  private val Threshold = "spark.sql.autoBroadcastJoinThreshold"
  private val AdaptiveThreshold = "spark.sql.adaptive.autoBroadcastJoinThreshold"
  private val SortMerge = Seq(Threshold -> "-1")
  private val Broadcast = Seq(Threshold -> "10m")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 90 AS int) AS k, CAST(id % 13 AS int) AS v, 's' || (id % 7) AS s FROM range(300)", files = 2)
    table("other", "SELECT CAST(id % 40 AS int) AS ok, CAST(id % 11 AS int) AS ov FROM range(100)")
    table("third", "SELECT CAST(id % 25 AS int) AS tk, CAST(id % 9 AS int) AS tv FROM range(60)")
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, CAST(id AS int) AS dv, 'd' || id AS name FROM range(4)")
  }

  private val Simple = "SELECT * FROM fact JOIN dim ON k = dk"

  private def simple: DataFrame = spark.sql(Simple)

  /** Shuffles that really ran, whatever number of times the plan shows them. */
  private def shuffles(plan: SparkPlan): Int = collectWithSubqueries(plan) {
    case stage: ShuffleQueryStageExec => System.identityHashCode(stage.shuffle)
  }.distinct.size

  private def planWithoutPlugin(query: => DataFrame): SparkPlan = withConf("spark.aqePlugin.mode" -> "off") {
    val frame = query
    frame.collect()
    frame.queryExecution.executedPlan
  }

  test("without exchange reuse no filter is planned, and planning comes to its end") {
    withConf(SortMerge :+ ("spark.sql.exchange.reuse" -> "false"): _*) {
      for (query <- Seq(Simple, s"$Simple JOIN other ON v = ov JOIN third ON ok = tk")) {
        val result = sameRows(spark.sql(query))
        assert(filters(result.plan).isEmpty)
      }
    }
  }

  test("endless re-planning: a filter is built once, however often AQE plans anew") {
    withConf(SortMerge: _*) {
      val result = sameRows(spark.sql(s"$Simple JOIN other ON v = ov JOIN third ON ok = tk"))
      val built = collectWithSubqueries(result.plan) {
        case stage: BroadcastQueryStageExec if stage.broadcast.isInstanceOf[RuntimeFilterExchangeExec] => stage
      }
      assert(built.nonEmpty)
      assert(built.map(s => System.identityHashCode(s.broadcast)).distinct.size <= built.map(_.broadcast.canonicalized).distinct.size)
    }
  }

  test("logical link: the filter has none, its exchange has one that is in no plan, and the build exchange keeps its own") {
    withConf(SortMerge: _*) {
      val result = withPlugin(simple)
      val found = filters(result.plan)
      assert(found.nonEmpty)
      assert(found.forall(_.logicalLink.isEmpty))
      val exchanges = found.flatMap(_.sources).flatMap(FilterSource.exchange(_))
      assert(exchanges.size == found.flatMap(_.sources).size)
      assert(exchanges.forall(_.logicalLink.exists(_.isInstanceOf[FilterLink])))
      assert(exchanges.forall(e => !RuntimeFilterExchangeExec.buildOf(e.child).logicalLink.exists(_.isInstanceOf[FilterLink])))
    }
  }

  test("a key expression that throws is not evaluated below the filter that removes the rows it throws on") {
    table(
      "paths",
      "SELECT IF(id % 3 = 0, array(CAST(id % 20 AS int)), CAST(array() AS array<int>)) AS path, IF(id % 3 = 0, '' || id, 'x') AS t FROM range(90)"
    )
    for (conf <- Seq(SortMerge, Broadcast)) withConf(conf :+ ("spark.sql.ansi.enabled" -> "true"): _*) {
      val _ = sameRows(spark.sql("SELECT * FROM paths JOIN dim ON path[0] = dk WHERE size(path) = 1"))
      val _ = sameRows(spark.sql("SELECT * FROM (SELECT path[0] AS head FROM paths WHERE size(path) = 1) JOIN dim ON head = dk"))
      val _ = sameRows(spark.sql("SELECT * FROM paths JOIN dim ON CAST(t AS int) = dk WHERE t <> 'x'"))
    }
  }

  test("a broadcast that is a join's own relation is not taken for a filter") {
    withConf(Broadcast: _*) {
      val result = sameRows(simple)
      val relations = collectWithSubqueries(result.plan) {
        case stage: BroadcastQueryStageExec if stage.broadcast.isInstanceOf[BroadcastExchangeExec] => stage
      }
      assert(relations.nonEmpty)
      assert(relations.forall(stage => FilterSource.exchange(stage).isEmpty && FilterSource.await(stage).isLeft))
    }
  }

  test("NOT IN: one null on the right empties the answer, and neither side is filtered") {
    for (conf <- Seq(SortMerge, Broadcast); list <- Seq("SELECT dk FROM dim", "SELECT IF(dv = 0, NULL, dk) FROM dim")) withConf(conf: _*) {
      val result = sameRows(spark.sql(s"SELECT * FROM fact WHERE k NOT IN ($list)"))
      assert(filters(result.plan).isEmpty)
    }
  }

  test("EXISTS and IN: the filter reaches the scans on both sides of the semi-join") {
    withConf(SortMerge: _*) {
      val in = sameRows(spark.sql("SELECT * FROM fact WHERE k IN (SELECT dk FROM dim)"))
      assert(filtered(in) == Seq("parquet-fact(k)"))
      val exists = sameRows(spark.sql("SELECT * FROM dim WHERE EXISTS (SELECT 1 FROM fact WHERE k = dk AND v > dv)"))
      assert(filtered(exists) == Seq("parquet-fact(k)"))
      val not = sameRows(spark.sql("SELECT * FROM dim WHERE NOT EXISTS (SELECT 1 FROM fact WHERE k = dk AND v > dv)"))
      assert(filtered(not) == Seq("parquet-fact(k)"))
      val above = sameRows(spark.sql("SELECT * FROM fact JOIN other ON v = ov WHERE EXISTS (SELECT 1 FROM dim WHERE dk = k)"))
      assert(filtered(above).contains("parquet-fact(k)"))
    }
  }

  test("packed relation keys: two int keys, a narrow and a wide one, and boxed single keys of a broadcast join give right filters") {
    table(
      "narrow",
      "SELECT CAST(id % 60 AS smallint) AS nk, CAST(id % 7 AS int) AS nv, CAST(id % 60 AS tinyint) AS nt, date_add(DATE'2020-01-01', CAST(id % 50 AS int)) AS nd FROM range(200)"
    )
    table(
      "few",
      "SELECT CAST(id AS smallint) AS fk, CAST(id AS int) AS fv, CAST(id AS tinyint) AS ft, date_add(DATE'2020-01-01', CAST(id AS int)) AS fd FROM range(5)"
    )
    withConf(Broadcast: _*) {
      for (on <- Seq("nk = fk AND nv = fv", "nv = fv AND nt = ft", "nk = fv AND nv = fk", "nt = ft", "nd = fd", "nd = fd AND nk = fk")) {
        val result = sameRows(spark.sql(s"SELECT * FROM narrow JOIN few ON $on"))
        assert(result.rows.nonEmpty)
        assert(filters(result.plan).nonEmpty, on)
        assert(outcomes(result).forall(o => o.path("rowsOut").asLong < o.path("rowsIn").asLong), s"$on: ${outcomes(result)}")
      }
    }
  }

  test("a relation with null keys only has no rows to give, and does not throw") {
    val relation = Class.forName("org.apache.spark.sql.execution.joins.HashedRelationWithAllNullKeys$").getField("MODULE$").get(None.orNull)
    assert(Relations.rows(relation).map(_.toSeq) == Right(Nil))
    assert(Relations.rows("no relation").isLeft)
    withConf(Broadcast: _*) {
      val _ = sameRows(spark.sql("SELECT * FROM fact WHERE k NOT IN (SELECT CAST(NULL AS int) FROM dim)"))
      val _ = sameRows(spark.sql("SELECT * FROM fact JOIN (SELECT IF(dv >= 0, NULL, dk) AS nk FROM dim) ON k = nk"))
    }
  }

  test("a scan whose exchange is used twice gets no filter of its own: a CTE joined to itself is not computed twice") {
    def twice: DataFrame = spark.sql(
      """WITH c AS (SELECT k, count(*) AS n FROM fact GROUP BY k)
        |SELECT * FROM dim LEFT JOIN (SELECT a.k, b.k AS l FROM c a JOIN c b ON a.n = b.n AND a.k < b.k) ON k = dk""".stripMargin
    )
    withConf(SortMerge: _*) {
      val result = sameRows(twice)
      assert(shuffles(result.plan) == shuffles(planWithoutPlugin(twice)))
      assert(!outcomes(result).exists(_.path("table").asText.contains("fact")))
    }
  }

  test("wrapped sources: a filter is found below row and column transitions, code generation and shuffle reads") {
    table("json_fact", "SELECT CAST(id % 50 AS int) AS jk, id FROM range(200)", "json")
    table("orc_dim", "SELECT CAST(id AS int) AS ck, CAST(id AS int) AS cv FROM range(6)", "orc")
    for (
      conf <- Seq(SortMerge, Broadcast);
      query <- Seq("SELECT * FROM json_fact JOIN orc_dim ON jk = ck", "SELECT * FROM fact JOIN json_fact ON k = jk JOIN orc_dim ON jk = ck")
    )
      withConf(conf: _*) {
        val result = sameRows(spark.sql(query))
        assert(result.ended.map(_.planned).sum > 0)
      }
  }

  test("cost of a plan: the change to a broadcast join is not thrown away for the copies below filters") {
    withConf(Threshold -> "-1", AdaptiveThreshold -> "10m") {
      val result = sameRows(spark.sql(s"$Simple JOIN other ON v = ov"))
      assert(collect(result.plan) { case j: BroadcastHashJoinExec => j }.nonEmpty)
      assert(collect(result.plan) { case j: SortMergeJoinExec => j }.isEmpty)
    }
  }

  test("the build exchange below a filter is the one in the join: it runs once") {
    withConf(Seq(Threshold -> "-1", AdaptiveThreshold -> "-1"): _*) {
      for (query <- Seq(Simple, s"$Simple JOIN other ON v = ov", s"$Simple JOIN other ON v = ov JOIN third ON ok = tk")) {
        val result = sameRows(spark.sql(query))
        assert(filters(result.plan).nonEmpty)
        assert(shuffles(result.plan) == shuffles(planWithoutPlugin(spark.sql(query))), query)
      }
    }
  }

  test("a broadcast stage says it holds 64 MB at least; rows are what is decided on") {
    withConf(Broadcast: _*) {
      val result = sameRows(simple)
      val facts = result.decided.map(_.decision.path("facts").path("build"))
      assert(facts.map(_.path("rows").asLong) == Seq(4L))
    }
  }

  test("a build side does not flip, and a join is decided once, however many plans are made") {
    withConf(SortMerge: _*) {
      val chain = "SELECT * FROM fact JOIN dim ON k = dk JOIN other ON v = ov JOIN third ON ok = tk LEFT JOIN dim d2 ON tv = d2.dv"
      val result = sameRows(spark.sql(chain))
      val ids = result.decided.map(_.decision.path("facts").path("joinId").asText)
      assert(ids.nonEmpty)
      assert(ids.distinct.size == ids.size)
      assert(result.ended.size == 1)
    }
  }

  test("waits do not form a circle") {
    val tables = Seq("fact f", "other o", "third t")
    val on = "f.k = o.ok AND o.ov = t.tv AND t.tk = f.v"
    withConf(SortMerge: _*) {
      for (order <- tables.permutations) {
        val _ = sameRows(spark.sql(s"SELECT * FROM ${order.mkString(", ")} WHERE $on"))
      }
      val _ = sameRows(spark.sql("SELECT * FROM fact a JOIN fact b ON a.k = b.v JOIN fact c ON b.k = c.v AND c.k = a.v"))
      val _ = sameRows(spark.sql(
        "SELECT * FROM (SELECT * FROM fact JOIN dim ON k = dk) x JOIN (SELECT ok, dv FROM other JOIN dim ON ov = dv) y ON x.k = y.ok"
      ))
    }
  }

  test("a filter that is not built in time lets every row pass") {
    withConf(SortMerge :+ ("spark.aqePlugin.filter.buildTimeout" -> "1"): _*) {
      val result = sameRows(simple)
      val kinds = outcomes(result).map(o => o.path("kind").asText -> o.path("reason").path("code").asText)
      assert(kinds == Seq("pass_all" -> "BUILD_TIMEOUT"))
    }
  }

  test("a filter that would be too large is not used") {
    table("texts", "SELECT 'text-' || id AS t, id FROM range(3000)", files = 2)
    table("more_texts", "SELECT 'text-' || (id * 2) AS mt FROM range(2500)")
    withConf(SortMerge ++ Seq("spark.aqePlugin.filter.maxBytes" -> "1k", "spark.aqePlugin.filter.exactMaxKeys" -> "10"): _*) {
      val result = sameRows(spark.sql("SELECT * FROM texts JOIN more_texts ON t = mt"))
      assert(outcomes(result).forall(_.path("kind").asText == "pass_all"))
    }
  }

  test("a build side that is not deterministic gives no filter") {
    val keys = Seq(
      "SELECT CAST(rand(3) * 10 AS int) AS bk FROM range(0, 5, 1, 1)",
      "SELECT dk AS bk FROM dim WHERE rand(3) < 0.9",
      "SELECT dk AS bk, monotonically_increasing_id() AS m FROM dim"
    )
    for (conf <- Seq(SortMerge, Broadcast); build <- keys) withConf(conf: _*) {
      val result = sameRows(spark.sql(s"SELECT * FROM fact JOIN ($build) b ON k = bk"))
      assert(!outcomes(result).exists(_.path("table").asText.contains("fact")), build)
      assert(!result.decided.exists(_.decision.path("buildFilter").asBoolean), build)
    }
  }

  test("the rules take little time on a join of many tables") {
    val joins = (1 to 8).map(i => s"JOIN dim d$i ON f.${if (i % 2 == 0) "k" else "v"} = d$i.dk").mkString(" ")
    withConf(SortMerge: _*) {
      val result = sameRows(spark.sql(s"SELECT f.k, f.s FROM fact f $joins"))
      assert(result.ended.map(_.ruleMillis).sum < 5000L)
    }
  }
}
