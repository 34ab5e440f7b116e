package io.aqeplugin.e2e

import java.util.concurrent.{Callable, Executors, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{Cost, CostEvaluator, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, ShuffledHashJoinExec}
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

import io.aqeplugin.AqePlugin
import io.aqeplugin.exec.RuntimeFilterExec
import io.aqeplugin.observe.QueryStates
import io.aqeplugin.place.PlaceFilters
import io.aqeplugin.plugin.AqeExtensions
import io.aqeplugin.tell.QueryEnded

/** The plugin in an application: with other plugins, several sessions and threads, and queries that fail or are cancelled. */
class ApplicationSuite extends AnyFunSuite with PluginSession with Eventually {
  import ApplicationSuite._

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(timeout = Span(60, Seconds), interval = Span(1, Seconds))

  override protected def applicationConf: Map[String, String] = Map(
    "spark.plugins" -> s"${classOf[OtherPlugin].getName},${classOf[AqePlugin].getName}",
    "spark.sql.extensions" -> classOf[OtherExtensions].getName,
    "spark.sql.adaptive.customCostEvaluatorClass" -> classOf[OtherCost].getName
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 90 AS int) AS k, CAST(id % 13 AS int) AS v FROM range(300)", files = 2)
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, CAST(id AS int) AS dv, 'd' || id AS name FROM range(4)")
  }

  private val SortMerge = "spark.sql.autoBroadcastJoinThreshold" -> "-1"
  private val OpenGates = "spark.aqePlugin.test.openGates" -> "true"
  private val Query = "SELECT * FROM fact JOIN dim ON k = dk"

  test("the user's plugins, extensions and cost evaluators stay, in their order") {
    val conf = spark.sparkContext.getConf
    assert(conf.get("spark.sql.extensions") == s"${classOf[OtherExtensions].getName},${classOf[AqeExtensions].getName}")
    assert(OtherPlugin.started.get == 1)
    val rules = OtherExtensions.calls.get
    val costs = OtherCost.calls.get
    withConf(SortMerge) {
      val result = sameRows(spark.sql(Query))
      assert(filtered(result).nonEmpty)
    }
    assert(OtherExtensions.calls.get > rules, "the other extension's rule was not called")
    assert(OtherCost.calls.get > costs, "the user's cost evaluator was not called")
    assert(OtherCost.sawFilters.get > 0 && OtherCost.countedCopies.get == 0, "the user's cost evaluator counted the shuffles below filters")
  }

  test("each session of an application has its own mode") {
    val other = spark.newSession()
    spark.table("fact").createOrReplaceGlobalTempView("g_fact")
    spark.table("dim").createOrReplaceGlobalTempView("g_dim")
    val query = "SELECT * FROM global_temp.g_fact JOIN global_temp.g_dim ON k = dk"
    def filtersOf(session: SparkSession): Int = {
      val frame = session.sql(query)
      frame.collect()
      filters(frame.queryExecution.executedPlan).size
    }
    withConf(SortMerge, OpenGates)(withConfOf(other)(SortMerge, OpenGates, "spark.aqePlugin.mode" -> "off") {
      assert(Seq(spark, other, spark, other).map(filtersOf) == Seq(1, 0, 1, 0))
    })
  }

  test("a conf change between two queries applies to the second") {
    withConf(SortMerge, OpenGates) {
      val modes = Seq("apply", "off", "observe", "apply")
      val found = modes.map(mode => withConf("spark.aqePlugin.mode" -> mode)(filters(ran(spark.sql(Query)).plan).size))
      assert(found == Seq(1, 0, 0, 1))
    }
  }

  test("queries on eight threads return the same rows as on one") {
    val queries = Seq(
      Query,
      "SELECT k, count(*) FROM fact WHERE k IN (SELECT dk FROM dim) GROUP BY k",
      "SELECT * FROM dim LEFT JOIN fact ON k = dk AND v > dv",
      "SELECT * FROM fact a JOIN fact b ON a.k = b.v JOIN dim ON a.v = dk"
    )
    withConf(SortMerge) {
      val expected = queries.map(query => withoutPlugin(spark.sql(query)))
      withConf(OpenGates) {
        drain()
        val mark = events.mark()
        val threads = Executors.newFixedThreadPool(8)
        try {
          val tasks = (0 until 24).map { i =>
            val at = i % queries.size
            val task: Callable[Boolean] = () => multiset(spark.sql(queries(at))) == expected(at)
            task
          }
          assert(threads.invokeAll(tasks.asJava).asScala.forall(_.get(300, TimeUnit.SECONDS)))
        } finally {
          val _ = threads.shutdownNow()
        }
        drain()
        val ended = events.since(mark).collect { case end: QueryEnded => end }
        assert(ended.size == 24)
        assert(ended.forall(end => end.planned > 0 && end.planned == end.applied && end.errors == 0), ended)
      }
    }
    eventually(assert(QueryStates.size == 0))
  }

  for ((what, slow) <- Seq("its build side runs" -> "dim", "its probe side runs" -> "fact"))
    test(s"a query that is cancelled while $what leaves no job and no memory") {
      val session = spark
      session.udf.register("slowly", (value: Int) => { Thread.sleep(300); value })
      session.udf.register("quickly", (value: Int) => value)
      def step(name: String): String = if (name == slow) "slowly" else "quickly"
      val query =
        s"SELECT * FROM (SELECT k, ${step("fact")}(v) AS x FROM fact) JOIN (SELECT dk, ${step("dim")}(dv) AS y FROM dim) ON k = dk AND x > y - 20"
      // Remnants of earlier queries are freed first, so that any growth belongs to this query.
      val before = settledBroadcasts()
      withConf(SortMerge, OpenGates) {
        val pool = Executors.newSingleThreadExecutor()
        try {
          val running = pool.submit { () =>
            session.sparkContext.setJobGroup("to be cancelled", "a slow query", interruptOnCancel = true)
            Try(session.sql(query).collect())
          }
          eventually(assert(session.sparkContext.statusTracker.getActiveJobIds().nonEmpty))
          // Repeatedly: a job that is just ending when it is cancelled succeeds.
          eventually {
            session.sparkContext.cancelJobGroup("to be cancelled")
            assert(running.isDone)
          }
          assert(running.get(120, TimeUnit.SECONDS).isFailure)
        } finally {
          val _ = pool.shutdownNow()
        }
      }
      eventually {
        assert(session.sparkContext.statusTracker.getActiveJobIds().isEmpty)
        assert(QueryStates.size == 0)
      }
      eventually {
        System.gc()
        assert((broadcasts() -- before).isEmpty)
      }
    }

  /** In-memory blocks of broadcasts, filters included. */
  private def broadcasts(): Set[String] =
    SparkEnv.get.blockManager.getMatchingBlockIds(_.isBroadcast).map(_.name).toSet

  /** As above, after unused broadcasts have been cleaned up. */
  private def settledBroadcasts(): Set[String] = {
    val seen = Iterator.continually { System.gc(); Thread.sleep(300); broadcasts() }
    seen.sliding(2).collectFirst { case Seq(earlier, later) if earlier == later => later }.getOrElse(broadcasts())
  }

  test("a failing query leaves no memory behind and keeps its own error") {
    withConf(SortMerge, OpenGates, "spark.sql.ansi.enabled" -> "true") {
      val error = intercept[Exception](spark.sql("SELECT *, 1 / (v - v) FROM fact JOIN dim ON k = dk").collect())
      assert(error.getMessage.contains("DIVIDE_BY_ZERO"))
    }
    eventually(assert(QueryStates.size == 0))
  }

  private def shufflesOf(plan: SparkPlan): Int = collect(plan) { case s: ShuffleQueryStageExec =>
    System.identityHashCode(s.shuffle)
  }.distinct.size

  test("a build side that turns out small is broadcast before the probe shuffle") {
    table("wide_dim", "SELECT CAST(id AS int) AS wk, CAST(id % 700 AS int) AS wv, uuid() AS u1, uuid() AS u2 FROM range(3000)")
    table("wide_fact", "SELECT CAST(id % 90 AS int) AS k, uuid() AS u3 FROM range(5000)", files = 2)
    val query = "SELECT * FROM wide_fact JOIN wide_dim ON k = wk WHERE wv = 8"
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "20000", OpenGates) {
      assert(shufflesOf(withConf("spark.aqePlugin.mode" -> "off")(ran(spark.sql(query))).plan) == 2)
      val result = sameRows(spark.sql(query))
      assert(collect(result.plan) { case j: BroadcastHashJoinExec => j }.size == 1)
      assert(shufflesOf(result.plan) == 1)
    }
  }

  test("a build side with large rows in memory and a small shuffle is not broadcast") {
    table("wide_rows", "SELECT CAST(id % 90 AS int) AS wk, CAST(id % 2 AS int) AS wv, repeat('x', 4000) AS filler FROM range(2000)")
    table("narrow_fact", "SELECT CAST(id % 90 AS int) AS k, uuid() AS u FROM range(5000)", files = 2)
    // Only the right side of a semi-join can be broadcast.
    val query =
      "SELECT * FROM narrow_fact LEFT SEMI JOIN (SELECT * FROM wide_rows WHERE wv = 1 AND wk < 40) w ON k = wk AND filler > u"
    val big = Seq("spark.sql.autoBroadcastJoinThreshold" -> "1", "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "100m")
    withConf(big ++ Seq(OpenGates, "spark.aqePlugin.broadcast.maxMemoryBytes" -> "1m"): _*) {
      val without = withConf("spark.aqePlugin.mode" -> "off")(ran(spark.sql(query)))
      assert(collect(without.plan) { case j: BroadcastHashJoinExec => j }.size == 1, "Spark itself broadcasts it")
      val result = sameRows(spark.sql(query))
      assert(collect(result.plan) { case j: ShuffledHashJoinExec => j }.size == 1, result.decided)
      assert(result.decided.exists(_.decision.toString.contains("BROADCAST_MEMORY")))
    }
  }
}

object ApplicationSuite {

  /** A user's plugin. */
  final class OtherPlugin extends SparkPlugin {
    override def driverPlugin(): DriverPlugin = new DriverPlugin {
      override def init(sparkContext: SparkContext, pluginContext: PluginContext): java.util.Map[String, String] = {
        OtherPlugin.started.incrementAndGet()
        java.util.Collections.emptyMap()
      }
    }
    override def executorPlugin(): ExecutorPlugin = Option.empty[ExecutorPlugin].orNull
  }

  object OtherPlugin {
    val started = new AtomicInteger()
  }

  /** A user's rule, which only counts its calls. */
  final class OtherExtensions extends (SparkSessionExtensions => Unit) {
    override def apply(extensions: SparkSessionExtensions): Unit = extensions.injectOptimizerRule(_ => CountingRule)
  }

  object OtherExtensions {
    val calls = new AtomicInteger()
  }

  object CountingRule extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = {
      OtherExtensions.calls.incrementAndGet()
      plan
    }
  }

  /** A user's cost evaluator. */
  final class OtherCost extends CostEvaluator {
    override def evaluateCost(plan: SparkPlan): Cost = {
      OtherCost.calls.incrementAndGet()
      def shuffles(of: SparkPlan): Int = of.collect { case shuffle: ShuffleExchangeLike => shuffle }.size
      val plain = PlaceFilters.strip(plan)
      if (plain ne plan) OtherCost.sawFilters.incrementAndGet()
      // A plan that holds a filter back is made dear.
      OtherCost.countedCopies.addAndGet((shuffles(plan) - shuffles(plain)) % RuntimeFilterExec.HeldShuffles)
      NoCost
    }
  }

  object NoCost extends Cost {
    override def compare(other: Cost): Int = 0
  }

  object OtherCost {
    val calls = new AtomicInteger()
    val sawFilters = new AtomicInteger()
    val countedCopies = new AtomicInteger()
  }
}
