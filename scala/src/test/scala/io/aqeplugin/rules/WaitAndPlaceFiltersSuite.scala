package io.aqeplugin.rules

import scala.jdk.CollectionConverters._

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SQLExecution, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, ShuffledHashJoinExec, SortMergeJoinExec}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.SessionConf
import io.aqeplugin.e2e.{PluginSession, Ran}
import io.aqeplugin.exec.RuntimeFilterExec
import io.aqeplugin.metrics.Faults
import io.aqeplugin.observe.QueryStates
import io.aqeplugin.place.PlaceFilters
import io.aqeplugin.tell.QueryEnded

/** The rules on plans that are not executed. */
class WaitAndPlaceFiltersSuite extends AnyFunSuite with PluginSession {
  import WaitAndPlaceFiltersSuite._

  private val OpenGates = "spark.aqePlugin.test.openGates" -> "true"
  private val SortMerge = "spark.sql.autoBroadcastJoinThreshold" -> "-1"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 90 AS int) AS k, CAST(id % 13 AS int) AS v FROM range(300)", files = 2)
    table("dim", "SELECT CAST(id + 5 AS int) AS dk, 'd' || id AS name FROM range(4)")
  }

  /** Spark's own plan, before anything runs. */
  private def sparksPlan(query: String = "SELECT * FROM fact JOIN dim ON k = dk"): SparkPlan =
    withConf("spark.aqePlugin.mode" -> "off", SortMerge) {
      spark.sql(query).queryExecution.executedPlan match {
        case adaptive: AdaptiveSparkPlanExec => adaptive.initialPlan
        case other                           => fail(s"not adaptive: $other")
      }
    }

  private def rule: WaitAndPlaceFilters = WaitAndPlaceFilters(spark)

  private def hasFilter(plan: SparkPlan): Boolean = plan.exists(_.isInstanceOf[RuntimeFilterExec])

  test("mode off returns the same plan") {
    val plan = sparksPlan()
    withConf("spark.aqePlugin.mode" -> "off", OpenGates, SortMerge)(assert(rule(plan) eq plan))
  }

  test("mode observe returns the same plan") {
    val plan = sparksPlan()
    withConf("spark.aqePlugin.mode" -> "observe", OpenGates, SortMerge)(assert(rule(plan) eq plan))
  }

  test("mode observe records decisions and runs the query as without the plugin") {
    withConf("spark.aqePlugin.mode" -> "observe", OpenGates, SortMerge) {
      val result = ran(spark.sql("SELECT * FROM fact JOIN dim ON k = dk"))
      assert(filters(result.plan).isEmpty)
      assert(result.decided.map(_.mode) == Seq("observe"))
      assert(result.ended.map(_.planned) == Seq(0))
    }
  }

  test("mode observe decides a join as mode apply would after a wait") {
    def decided(mode: String) = withConf("spark.aqePlugin.mode" -> mode, OpenGates, SortMerge) {
      val result = ran(spark.sql("SELECT * FROM fact JOIN dim ON k = dk"))
      result.decided.map { join =>
        val filters = join.filters.elements().asScala.map(_.path("table").asText).toSeq
        (join.decision.path("buildFilter").asBoolean, join.decision.path("facts").path("probe").path("started").asBoolean, filters)
      }
    }
    assert(decided("observe") == Seq((true, false, Seq("parquet-fact"))))
    assert(decided("observe") == decided("apply"))
  }

  test("a query whose stages do not seem to end stays as it is, which is a fault") {
    val replanned = withConf("spark.aqePlugin.mode" -> "off", SortMerge) {
      val frame = spark.sql("SELECT * FROM fact JOIN dim ON k = dk")
      frame.collect()
      frame.queryExecution.executedPlan match {
        case adaptive: AdaptiveSparkPlanExec => adaptive.executedPlan
        case other                           => fail(s"not adaptive: $other")
      }
    }
    def faults(most: Int): Long = withConf(OpenGates, SortMerge) {
      val before = Faults.count
      assert(WaitAndPlaceFilters(spark, most)(replanned) eq replanned)
      Faults.count - before
    }
    assert(faults(most = 1) == 1 && faults(most = 10) == 0)
  }

  test("a plan without joins stays the same") {
    val plan = sparksPlan("SELECT k, count(*) FROM fact GROUP BY k")
    withConf(OpenGates, SortMerge)(assert(rule(plan) eq plan))
  }

  test("a plan whose join gets no filter stays the same") {
    val plan = sparksPlan("SELECT * FROM fact FULL JOIN dim ON k = dk")
    withConf(OpenGates, SortMerge)(assert(rule(plan) eq plan))
    val small = sparksPlan()
    withConf(SortMerge)(assert(rule(small) eq small, "too few rows to be worth a filter"))
  }

  test("a second application changes nothing, and removing filters gives Spark's plan") {
    val plan = sparksPlan()
    withConf(OpenGates, SortMerge) {
      val once = rule(plan)
      assert(hasFilter(once))
      assert(rule(once) == once)
      assert(PlaceFilters.strip(once) == plan)
    }
  }

  test("unknown nodes stay, and no filter goes below them") {
    val plan = sparksPlan()
    withConf(OpenGates, SortMerge) {
      val above = rule(Unknown(plan))
      assert(above.isInstanceOf[Unknown] && hasFilter(above))
      val below = plan.transformUp { case join: SortMergeJoinExec => join.withNewChildren(Seq(Unknown(join.left), join.right)) }
      assert(rule(below) eq below)
    }
  }

  test("the logical rule does not change a plan without finished stages") {
    val logical: LogicalPlan = spark.sql("SELECT * FROM fact JOIN dim ON k = dk").queryExecution.optimizedPlan
    withConf(OpenGates)(assert(ChooseJoinStrategy(spark)(logical) eq logical))
  }

  private def joinsOf(ran: Ran): Seq[String] = collect(ran.plan) {
    case _: BroadcastHashJoinExec => "broadcast"
    case _: SortMergeJoinExec     => "merge"
    case _: ShuffledHashJoinExec  => "shuffle_hash"
  }

  for ((hint, join) <- Seq("MERGE" -> "merge", "SHUFFLE_HASH" -> "shuffle_hash", "BROADCAST" -> "broadcast"))
    test(s"the user's $hint hint wins") {
      withConf(OpenGates, "spark.sql.autoBroadcastJoinThreshold" -> "1") {
        val result = sameRows(spark.sql(s"SELECT /*+ $hint(dim) */ * FROM fact JOIN dim ON k = dk"))
        assert(joinsOf(result) == Seq(join))
        assert(result.decided.map(_.decision.path("choice").asText) == Seq("leave_to_spark"))
        assert(result.decided.map(_.decision.path("reason").path("code").asText) == Seq("HINT"))
      }
    }

  test("a conf value out of range keeps Spark's own plan and counts as a fault with its reason") {
    val plan = sparksPlan()
    withConf(OpenGates, "spark.aqePlugin.filter.maxPassRate" -> "7") {
      val before = Faults.count
      assert(rule(plan) eq plan)
      assert(Faults.count == before + 1)
      def query = spark.sql("SELECT * FROM fact JOIN dim ON k = dk")
      drain()
      val mark = events.mark()
      assert(multiset(query) == withoutPlugin(query))
      drain()
      assert(events.since(mark).collect { case ended: QueryEnded => ended.errors -> ended.badConf } ==
        Seq(1L -> Some("Bad value for spark.aqePlugin.filter.maxPassRate: '7'. Allowed: 0 to 1.")))
      assert(Faults.count == before + 2)
    }
  }

  test("an unknown key of the plugin is logged") {
    withConf("spark.aqePlugin.filter.maxByte" -> "1m", "spark.aqePlugin.filter.maxBytes" -> "2m", "spark.aqeplugin.mode" -> "off") {
      assert(SessionConf.unknownKeys(spark.sessionState.conf) == Seq("spark.aqePlugin.filter.maxByte", "spark.aqeplugin.mode"))
    }
  }

  for (error <- Seq(new IllegalStateException("broken"), new StackOverflowError(), new NoSuchMethodError("moved")))
    test(s"a rule that throws ${error.getClass.getSimpleName} keeps Spark's plan and counts once") {
      val plan = sparksPlan()
      val before = Faults.count
      assert(new Throwing(error)(plan) eq plan)
      assert(Faults.count == before + 1)
    }

  test("a rule that fails before anything of its query is known counts for the query") {
    val plan = sparksPlan()
    val execution = Long.MaxValue - 1
    spark.sparkContext.setLocalProperty(SQLExecution.EXECUTION_ID_KEY, execution.toString)
    try {
      val early = new Throwing(new NoSuchMethodError("moved")) {
        override protected def concerns(plan: SparkPlan): Boolean = throw new NoSuchMethodError("moved")
      }
      assert((early(plan) eq plan) && QueryStates.get(execution).exists(_.errors.sum() == 1))
    } finally {
      spark.sparkContext.setLocalProperty(SQLExecution.EXECUTION_ID_KEY, null)
      val _ = QueryStates.remove(execution)
    }
  }

  test("of an application that has stopped, a rule that throws counts nothing") {
    val plan = sparksPlan()
    spark.stop()
    val before = Faults.count
    assert((new Throwing(new IllegalStateException("stopped"))(plan) eq plan) && Faults.count == before)
  }

  /** A rule that fails. */
  private class Throwing(error: Throwable) extends SafeRule[SparkPlan](spark) {
    override protected def change(plan: SparkPlan, context: RuleContext): SparkPlan = throw error
  }
}

object WaitAndPlaceFiltersSuite {

  /** An operator that the rule does not know. */
  final case class Unknown(child: SparkPlan) extends UnaryExecNode {
    override def output: Seq[Attribute] = child.output
    override protected def doExecute(): RDD[InternalRow] = child.execute()
    override protected def withNewChildInternal(newChild: SparkPlan): Unknown = copy(child = newChild)
  }
}
