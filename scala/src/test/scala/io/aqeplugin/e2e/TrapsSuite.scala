package io.aqeplugin.e2e

import java.util.concurrent.{CompletableFuture, ConcurrentLinkedQueue}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{InputAdapter, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{
  BroadcastQueryStageExec,
  CostEvaluator,
  QueryStageExec,
  ShuffleQueryStageExec,
  SimpleCostEvaluator,
  ValidateSparkPlan
}
import org.apache.spark.sql.execution.aqeplugin.Relations
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ShuffleExchangeLike}
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, SortMergeJoinExec}
import org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.concurrent.{Signaler, ThreadSignaler, TimeLimits}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

import io.aqeplugin.exec.{FilterSource, RuntimeFilterExchangeExec}
import io.aqeplugin.place.{FilterLink, PlaceFilters}
import io.aqeplugin.tell.JoinDecided

/** Faults that occurred while the mechanism was developed; each test is named after one. */
class TrapsSuite extends AnyFunSuite with PluginSession with TimeLimits {
  implicit private val signaler: Signaler = ThreadSignaler

  private val Threshold = "spark.sql.autoBroadcastJoinThreshold"
  private val AdaptiveThreshold = "spark.sql.adaptive.autoBroadcastJoinThreshold"
  private val SortMerge = Seq(Threshold -> "-1")
  private val Broadcasts = Seq(Threshold -> "10m")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 90 AS int) AS k, CAST(id % 13 AS int) AS v, 's' || (id % 7) AS s FROM range(300)", files = 2)
    table("other", "SELECT CAST(id % 40 AS int) AS ok, CAST(id % 11 AS int) AS ov FROM range(100)")
    table("third", "SELECT CAST(id % 25 AS int) AS tk, CAST(id % 9 AS int) AS tv FROM range(60)")
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, CAST(id AS int) AS dv, 'd' || id AS name FROM range(4)")
  }

  private val Simple = "SELECT * FROM fact JOIN dim ON k = dk"

  private def simple: DataFrame = spark.sql(Simple)

  /** Shuffles that really ran, however often they occur in the plan. */
  private def shuffles(plan: SparkPlan): Int = collectWithSubqueries(plan) {
    case stage: ShuffleQueryStageExec => System.identityHashCode(stage.shuffle)
  }.distinct.size

  private def planWithoutPlugin(query: => DataFrame): SparkPlan = withConf("spark.aqePlugin.mode" -> "off") {
    val frame = query
    frame.collect()
    frame.queryExecution.executedPlan
  }

  test("without exchange reuse, no filter is planned and planning ends") {
    withConf(SortMerge :+ ("spark.sql.exchange.reuse" -> "false"): _*) {
      for (query <- Seq(Simple, s"$Simple JOIN other ON v = ov JOIN third ON ok = tk")) {
        val result = sameRows(spark.sql(query))
        assert(filters(result.plan).isEmpty)
      }
    }
  }

  test("a filter is built once, however often AQE re-plans") {
    withConf(SortMerge: _*) {
      val result = sameRows(spark.sql(s"$Simple JOIN other ON v = ov JOIN third ON ok = tk"))
      val built = collectWithSubqueries(result.plan) {
        case stage: BroadcastQueryStageExec if stage.broadcast.isInstanceOf[RuntimeFilterExchangeExec] => stage
      }
      assert(built.nonEmpty)
      assert(built.map(s => System.identityHashCode(s.broadcast)).distinct.size <= built.map(_.broadcast.canonicalized).distinct.size)
    }
  }

  test("the filter and its exchange are linked to no node of the logical plan") {
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

  test("a key that cannot be computed below the filter that guards it fails no query") {
    table(
      "paths",
      "SELECT IF(id % 3 = 0, array(CAST(id % 20 AS int)), CAST(array() AS array<int>)) AS path, IF(id % 3 = 0, '' || id, 'x') AS t FROM range(90)"
    )
    for (conf <- Seq(SortMerge, Broadcasts)) withConf(conf :+ ("spark.sql.ansi.enabled" -> "true"): _*) {
      val _ = sameRows(spark.sql("SELECT * FROM paths JOIN dim ON path[0] = dk WHERE size(path) = 1"))
      val _ = sameRows(spark.sql("SELECT * FROM (SELECT path[0] AS head FROM paths WHERE size(path) = 1) JOIN dim ON head = dk"))
      val _ = sameRows(spark.sql("SELECT * FROM paths JOIN dim ON CAST(t AS int) = dk WHERE t <> 'x'"))
    }
  }

  test("a broadcast that is a join's own relation is not taken for a filter") {
    withConf(Broadcasts: _*) {
      val result = sameRows(simple)
      val relations = collectWithSubqueries(result.plan) {
        case stage: BroadcastQueryStageExec if stage.broadcast.isInstanceOf[BroadcastExchangeExec] => stage
      }
      assert(relations.nonEmpty)
      assert(relations.forall(stage => FilterSource.exchange(stage).isEmpty && FilterSource.await(stage).isLeft))
    }
  }

  test("neither side of NOT IN is filtered") {
    for (conf <- Seq(SortMerge, Broadcasts); list <- Seq("SELECT dk FROM dim", "SELECT IF(dv = 0, NULL, dk) FROM dim")) withConf(conf: _*) {
      val result = sameRows(spark.sql(s"SELECT * FROM fact WHERE k NOT IN ($list)"))
      assert(filters(result.plan).isEmpty)
    }
  }

  test("the filters of EXISTS and IN reach the scans on both sides of the semi-join") {
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

  test("packed and boxed keys of a broadcast relation give correct filters") {
    table(
      "narrow",
      "SELECT CAST(id % 60 AS smallint) AS nk, CAST(id % 7 AS int) AS nv, CAST(id % 60 AS tinyint) AS nt, date_add(DATE'2020-01-01', CAST(id % 50 AS int)) AS nd FROM range(200)"
    )
    table(
      "few",
      "SELECT CAST(id AS smallint) AS fk, CAST(id AS int) AS fv, CAST(id AS tinyint) AS ft, date_add(DATE'2020-01-01', CAST(id AS int)) AS fd FROM range(5)"
    )
    withConf(Broadcasts: _*) {
      for (on <- Seq("nk = fk AND nv = fv", "nv = fv AND nt = ft", "nk = fv AND nv = fk", "nt = ft", "nd = fd", "nd = fd AND nk = fk")) {
        val result = sameRows(spark.sql(s"SELECT * FROM narrow JOIN few ON $on"))
        assert(result.rows.nonEmpty)
        assert(filtered(result).nonEmpty, on)
        assert(outcomes(result).forall(o => o.path("rowsOut").asLong < o.path("rowsIn").asLong), s"$on: ${outcomes(result)}")
      }
    }
  }

  test("a relation with only null keys gives no rows and does not throw") {
    val relation = Class.forName("org.apache.spark.sql.execution.joins.HashedRelationWithAllNullKeys$").getField("MODULE$").get(None.orNull)
    assert(Relations.rows(relation).map(_.toSeq) == Right(Nil))
    assert(Relations.rows("no relation").isLeft)
    withConf(Broadcasts: _*) {
      val _ = sameRows(spark.sql("SELECT * FROM fact WHERE k NOT IN (SELECT CAST(NULL AS int) FROM dim)"))
      val _ = sameRows(spark.sql("SELECT * FROM fact JOIN (SELECT IF(dv >= 0, NULL, dk) AS nk FROM dim) ON k = nk"))
    }
  }

  test("a CTE joined to itself gets no filter and is computed once") {
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

  test("a filter is found below transitions, code generation and shuffle reads") {
    table("json_fact", "SELECT CAST(id % 50 AS int) AS jk, id FROM range(200)", "json")
    table("orc_dim", "SELECT CAST(id AS int) AS ck, CAST(id AS int) AS cv FROM range(6)", "orc")
    for (
      conf <- Seq(SortMerge, Broadcasts);
      query <- Seq("SELECT * FROM json_fact JOIN orc_dim ON jk = ck", "SELECT * FROM fact JOIN json_fact ON k = jk JOIN orc_dim ON jk = ck")
    )
      withConf(conf: _*) {
        val result = sameRows(spark.sql(query))
        assert(result.ended.map(_.planned).sum > 0)
      }
  }

  test("plan cost ignores the copies below filters, so a better re-plan is kept") {
    withConf(Threshold -> "-1", AdaptiveThreshold -> "10m") {
      val result = sameRows(spark.sql(s"$Simple JOIN other ON v = ov"))
      assert(collect(result.plan) { case j: BroadcastHashJoinExec => j }.nonEmpty)
      assert(collect(result.plan) { case j: SortMergeJoinExec => j }.isEmpty)
    }
  }

  test("the build exchange below a filter is that of the join and runs once") {
    withConf(Seq(Threshold -> "-1", AdaptiveThreshold -> "-1"): _*) {
      for (query <- Seq(Simple, s"$Simple JOIN other ON v = ov", s"$Simple JOIN other ON v = ov JOIN third ON ok = tk")) {
        val result = sameRows(spark.sql(query))
        assert(filtered(result).nonEmpty)
        assert(shuffles(result.plan) == shuffles(planWithoutPlugin(spark.sql(query))), query)
      }
    }
  }

  test("a repartition that becomes the shuffle of a join runs once, and planning ends") {
    withConf(Seq(Threshold -> "-1", AdaptiveThreshold -> "-1"): _*) {
      for (
        hint <-
          Seq("REPARTITION(1)", "REPARTITION(2)", "REPARTITION(2, dk)", "REPARTITION(dk)", "REPARTITION(1), COALESCE(1)", "REBALANCE(dk)");
        query <- Seq(
          s"SELECT * FROM fact JOIN (SELECT /*+ $hint */ * FROM dim) d ON k = dk",
          s"SELECT * FROM (SELECT /*+ $hint */ k AS dk, v FROM fact) f JOIN dim d USING (dk) JOIN other ON v = ov",
          s"SELECT * FROM fact LEFT SEMI JOIN (SELECT /*+ $hint */ * FROM dim) d ON k = dk"
        )
      ) failAfter(Span(60, Seconds)) {
        val result = sameRows(spark.sql(query))
        assert(filtered(result).nonEmpty, query)
        assert(shuffles(result.plan) == shuffles(planWithoutPlugin(spark.sql(query))), query)
      }
    }
  }

  test("a small broadcast that reports 64 MB is judged by its rows") {
    withConf(Broadcasts: _*) {
      val result = sameRows(simple)
      val facts = result.decided.map(_.decision.path("facts").path("build"))
      assert(facts.map(_.path("rows").asLong) == Seq(4L))
    }
  }

  test("a join is decided once and keeps its build side, however often AQE re-plans") {
    withConf(SortMerge: _*) {
      val chain = "SELECT * FROM fact JOIN dim ON k = dk JOIN other ON v = ov JOIN third ON ok = tk LEFT JOIN dim d2 ON tv = d2.dv"
      val result = sameRows(spark.sql(chain))
      val ids = result.decided.map(_.decision.path("facts").path("joinId").asText)
      assert(ids.nonEmpty)
      assert(ids.distinct.size == ids.size)
      assert(result.ended.size == 1)
    }
  }

  test("in no plan of AQE is a join's filter on its own build side") {
    val plans = new ConcurrentLinkedQueue[String]()
    val listener = new SparkListener {
      override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
        case update: SparkListenerSQLAdaptiveExecutionUpdate => val _ = plans.add(update.physicalPlanDescription)
        case _                                               =>
      }
    }
    spark.sparkContext.addSparkListener(listener)
    try
      withConf(SortMerge: _*) {
        val chain = "SELECT * FROM fact JOIN dim ON k = dk JOIN other ON v = ov JOIN third ON ok = tk"
        val result = sameRows(spark.sql(chain))
        // For each left=right key pair of a join, the keys that have a filter of that join in any plan.
        val label = """(?:\[|; |, )\S+\((\w+)\) by inner:(\w+)=(\w+): """.r
        val sides = plans.asScala.toSeq.flatMap(label.findAllMatchIn(_)).groupMap(m => m.group(2) -> m.group(3))(_.group(1))
        assert(sides.size == 3 && plans.size > 3, sides)
        val joinId = """inner:(\w+)=(\w+)""".r
        val buildKeys =
          result.decided.map(_.decision.path("facts")).map(f => f.path("joinId").asText -> f.path("buildSide").asText).collect {
            case (joinId(left, right), side) => (left -> right) -> (if (side == "left") left else right)
          }.toMap
        assert(buildKeys.keySet == sides.keySet)
        sides.foreach { case (join, columns) => assert(!columns.contains(buildKeys(join)), s"$join: $columns, $buildKeys") }
      }
    finally spark.sparkContext.removeSparkListener(listener)
  }

  test("waits do not form a cycle") {
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

  test("a filter that is not built in time passes every row") {
    // Keys that came with the stage can be a filter within the millisecond, so a job has to build it.
    withConf(SortMerge ++ Seq("spark.aqePlugin.filter.buildTimeout" -> "1", "spark.aqePlugin.sketch.maxKeys" -> "0"): _*) {
      def kinds = outcomes(sameRows(simple)).map(o => o.path("kind").asText -> o.path("reason").path("code").asText)
      // On a busy machine the timer's thread may come to run only after the job.
      assert(Iterator.continually(kinds).take(5).contains(Seq("pass_all" -> "BUILD_TIMEOUT")))
    }
  }

  test("a filter that would be too large is not used") {
    table("texts", "SELECT 'text-' || id AS t, id FROM range(3000)", files = 2)
    table("more_texts", "SELECT 'text-' || (id * 2) AS mt FROM range(2500)")
    withConf(SortMerge ++ Seq("spark.aqePlugin.filter.maxBytes" -> "1k", "spark.aqePlugin.filter.exactMaxKeys" -> "10"): _*) {
      val result = sameRows(spark.sql("SELECT * FROM texts JOIN more_texts ON t = mt"))
      assert(result.decided.map(_.decision.path("filterReason").path("code").asText) == Seq("FILTER_TOO_BIG"))
      assert(filters(result.plan).isEmpty)
    }
  }

  test("a nondeterministic build side gives no filter") {
    val keys = Seq(
      "SELECT CAST(rand(3) * 10 AS int) AS bk FROM range(0, 5, 1, 1)",
      "SELECT dk AS bk FROM dim WHERE rand(3) < 0.9",
      "SELECT dk AS bk, monotonically_increasing_id() AS m FROM dim"
    )
    for (conf <- Seq(SortMerge, Broadcasts); build <- keys) withConf(conf: _*) {
      val result = sameRows(spark.sql(s"SELECT * FROM fact JOIN ($build) b ON k = bk"))
      assert(!outcomes(result).exists(_.path("table").asText.contains("fact")), build)
      assert(!result.decided.exists(_.decision.path("buildFilter").asBoolean), build)
    }
  }

  test("the rules take a small share of the time of a query with many joins") {
    val joins = (1 to 8).map(i => s"JOIN dim d$i ON f.${if (i % 2 == 0) "k" else "v"} = d$i.dk").mkString(" ")
    withConf(SortMerge: _*) {
      // Shares rather than times, and the smallest of several, because a busy machine slows both the rules and the rest.
      val shares = Seq.fill(3) {
        val ended = sameRows(spark.sql(s"SELECT f.k, f.s FROM fact f $joins")).ended
        ended.map(_.ruleMillis).sum.toDouble / ended.map(_.durationMillis).sum
      }
      assert(shares.min < 0.2, shares)
    }
  }

  test("ValidateSparkPlan runs before filters are placed, so re-plans are kept") {
    withConf(Threshold -> "-1", AdaptiveThreshold -> "10m") {
      val result = sameRows(spark.sql(s"$Simple JOIN other ON v = ov"))
      val placed = filters(result.plan)
      assert(placed.nonEmpty && placed.forall(node => Try(ValidateSparkPlan(node)).isFailure), "the check has changed")
      assert(collect(result.plan) { case j: BroadcastHashJoinExec => j }.nonEmpty, "no re-plan was kept")
    }
  }

  /** Spark's cost evaluator, whose constructor takes one flag up to Spark 4.2 and also counts local sorts since 4.3. */
  private def sparksEvaluator(countsSkewJoins: Boolean): CostEvaluator = {
    val constructor = classOf[SimpleCostEvaluator].getConstructors.head
    val flags = Boolean.box(countsSkewJoins) +: Seq.fill(constructor.getParameterCount - 1)(java.lang.Boolean.TRUE)
    constructor.newInstance(flags: _*).asInstanceOf[CostEvaluator]
  }

  test("AQE prices a plan with filters as the plan without them, and forced skew joins as ever") {
    withConf(SortMerge: _*) {
      val filtered = filters(sameRows(simple).plan).head
      val join = collect(sameRows(simple).plan) { case j: SortMergeJoinExec => j }.head
      val copy = join.transform { case stage: QueryStageExec => stage.plan }
      val placed = filtered.copy(sources = filtered.sources.map(_ => copy))
      assert(copy.collect { case s: ShuffleExchangeLike => s }.nonEmpty, copy)
      for (forced <- Seq(true, false)) withConf("spark.sql.adaptive.forceOptimizeSkewedJoin" -> forced.toString) {
        val evaluator = sparksEvaluator(forced)
        val skewed = join.copy(isSkewJoin = true)
        val above = Seq(placed, placed.copy(sources = placed.sources.map(_ => skewed)))
        for (plan <- above) assert(evaluator.evaluateCost(plan) == evaluator.evaluateCost(PlaceFilters.strip(plan)))
        assert((evaluator.evaluateCost(skewed) < evaluator.evaluateCost(join)) == forced)
      }
    }
  }

  test("the test classpath has Spark's own classes and not the stubs of connect-shims") {
    for (own <- Seq[Class[_]](classOf[SparkContext], classOf[RDD[_]]))
      assert(own.getProtectionDomain.getCodeSource.getLocation.getPath.contains("/spark-core_"))
  }

  test("a filter build that never ends passes every row after the reader's time limit") {
    withConf(SortMerge: _*) {
      val built = filters(withPlugin(simple).plan).flatMap(_.sources).flatMap(FilterSource.exchange(_)).head
      val stuck = new RuntimeFilterExchangeExec(built.keys, built.child, built.limits.copy(timeoutMillis = 1), built.joinId) {
        @transient override lazy val relationFuture: CompletableFuture[Broadcast[Any]] = new CompletableFuture()
      }
      failAfter(Span(60, Seconds))(assert(FilterSource.await(stuck).isLeft))
    }
  }

  test("operators above and below a filter on a row-based scan are still compiled") {
    table("json_rows", "SELECT CAST(id % 50 AS int) AS jk, CAST(id AS int) AS jv FROM range(200)", "json")
    withConf(SortMerge: _*) {
      val result = sameRows(spark.sql("SELECT jk, jv + 1 AS j, name FROM json_rows JOIN dim ON jk = dk WHERE jv % 2 = 0"))
      val onRows = filters(result.plan).filterNot(_.supportsColumnar)
      assert(onRows.nonEmpty)
      val inputs = collect(result.plan) { case input: InputAdapter => input.child }
      assert(onRows.forall(filter => inputs.exists(_ eq filter)), result.plan)
    }
  }

  test("a streaming join with a watermark runs as without the plugin") {
    val rows = folder.resolve("events").toString
    withConf("spark.aqePlugin.mode" -> "off")(spark.sql(
      "SELECT CAST(id % 90 AS int) AS k, TIMESTAMP'2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, id) AS at FROM range(300)"
    ).write.parquet(rows))
    withConf(SortMerge :+ ("spark.aqePlugin.test.openGates" -> "true"): _*) {
      val mark = events.mark()
      val stream = spark.readStream.schema("k INT, at TIMESTAMP").parquet(rows).withWatermark("at", "1 minute")
      val query = stream.join(spark.table("dim")).where("k = dk").writeStream.format("memory").queryName("met")
        .trigger(Trigger.AvailableNow()).start()
      try assert(query.awaitTermination(120000L))
      finally query.stop()
      drain()
      val expected = withoutPlugin(spark.read.parquet(rows).join(spark.table("dim")).where("k = dk"))
      assert(withoutPlugin(spark.table("met")) == expected && expected.size == 16)
      assert(!events.since(mark).exists(_.isInstanceOf[JoinDecided]))
    }
  }
}
