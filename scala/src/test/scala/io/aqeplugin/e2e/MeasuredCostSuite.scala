package io.aqeplugin.e2e

import java.util.concurrent.atomic.LongAdder

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.Row
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.{JoinOption, Unmeasured, WeighedOption}
import io.aqeplugin.observe.{QueryState, StagePart, StageParts, StageRun, StageTimes}
import io.aqeplugin.tell.{DecisionJson, MeasuredCosts, QueryEnded}

/** What joins cost, measured in real queries: by Spark's own metrics of their stages. */
class MeasuredCostSuite extends AnyFunSuite with PluginSession {
  private val runMillis = new LongAdder()

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT id % 5000 AS k, id % 700 AS j, id AS v, repeat('x', 20) AS pad FROM range(300000)", files = 2)
    table("dim", "SELECT id AS dk, 'd' || id AS name FROM range(4000) WHERE id % 3 = 0")
    table("other", "SELECT id AS ok, 'o' || id AS label FROM range(600) WHERE id % 2 = 0")
    table("every", "SELECT id AS dk, 'd' || id AS name FROM range(5000)")
    table("far", "SELECT id + 1000000 AS dk, 'd' || id AS name FROM range(400)")
    table("skewed", "SELECT IF(id % 3 > 0, 3L, id % 5000) AS s, id AS v, repeat('x', 20) AS pad FROM range(300000)", files = 2)
    spark.sparkContext.addSparkListener(new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit = Option(end.taskMetrics).foreach(m => runMillis.add(m.executorRunTime))
    })
  }

  private val Broadcast = "spark.aqePlugin.broadcast.maxRows"
  private val Gates = "spark.aqePlugin.test.openGates"
  private val Merge = "spark.sql.autoBroadcastJoinThreshold" -> "-1"
  private val Filtered = Seq(Merge, Gates -> "true")
  // A filter that was waited for, and came out larger than it may be.
  private val Plain = Filtered :+ ("spark.aqePlugin.filter.maxBytes" -> "2k")

  /** A join of which a share of 1 / `part` of the probe side's keys finds a partner. */
  private def share(part: Int): String = s"SELECT * FROM fact JOIN every ON k = dk AND dk % $part = 0"

  private val Join = "SELECT * FROM fact JOIN dim ON k = dk AND name <> 'd9'"

  private def costs(ended: Seq[QueryEnded]): Seq[JsonNode] = ended.flatMap(_.joinCosts.elements.asScala)

  private def number(cost: JsonNode, name: String): Double = cost.get(name).doubleValue

  private def choices(ran: Ran): Set[(String, Boolean)] =
    ran.decided.map(_.decision).map(d => (d.get("choice").textValue, d.get("buildFilter").booleanValue)).toSet

  /** Runs a query and requires that its joins together cost no more than its tasks took. */
  private def measured(query: String, conf: (String, String)*): (Ran, Seq[JsonNode]) = {
    drain()
    runMillis.reset()
    val result = withConf(conf: _*)(ran(spark.sql(query)))
    val all = costs(result.ended)
    val decided = result.decided.map(_.decision.get("facts").get("joinId")).toSet
    assert(all.map(_.get("joinId")).toSet.subsetOf(decided) && all.distinct.size == all.size, result.plan)
    assert(all.filter(_.get("unmeasured").isNull).map(number(_, "taskMillis")).sum <= runMillis.sum + 1e-6)
    (result, all)
  }

  private def only(costs: Seq[JsonNode]): JsonNode = {
    assert(costs.size == 1, costs)
    assert(costs.head.get("unmeasured").isNull, costs)
    costs.head
  }

  private def why(costs: Seq[JsonNode]): Set[String] = costs.map(_.get("unmeasured").textValue).toSet

  test("a broadcast join: the time of its one stage, and that of making the broadcast") {
    val (result, all) = measured(Join, "spark.sql.autoBroadcastJoinThreshold" -> "1")
    assert(choices(result).map(_._1) == Set("broadcast"), result.plan)
    val cost = only(all)
    assert(number(cost, "taskMillis") > 0 && number(cost, "driverMillis") > 0)
    assert(math.abs(number(cost, "costMillis") - number(cost, "taskMillis") / 2 - number(cost, "driverMillis")) < 1e-6)
    assert(!cost.get("shared").booleanValue && !cost.get("otherWork").booleanValue)
  }

  test("a filtered sort-merge join: both stages, and the build of the filter") {
    val (result, all) = measured(share(50), Filtered: _*)
    assert(choices(result) == Set("filtered_sort_merge" -> true), result.decided)
    val cost = only(all)
    assert(number(cost, "taskMillis") > 0)
    assert(number(cost, "driverMillis") == outcomes(result).map(_.get("buildMillis").doubleValue).max)
  }

  test("a plain sort-merge join: both stages, and nothing of the driver's") {
    val (result, all) = measured("SELECT * FROM fact JOIN every ON k = dk AND length(name) > 1", Plain: _*)
    assert(choices(result) == Set("plain_sort_merge" -> false), result.decided)
    val cost = only(all)
    assert(cost.get("strategy").textValue == "plain_sort_merge" && !cost.get("withFilter").booleanValue)
    assert(number(cost, "taskMillis") > 0 && number(cost, "driverMillis") == 0)
  }

  test("joins of a star divide the stages that they share") {
    val (_, all) = measured(
      "SELECT * FROM fact JOIN dim ON k = dk AND name <> 'd9' JOIN other ON j = ok AND label <> 'o8'",
      "spark.sql.autoBroadcastJoinThreshold" -> "1",
      Broadcast -> "5000000"
    )
    val known = all.filter(_.get("unmeasured").isNull)
    assert(known.size == 2 && known.forall(_.get("shared").booleanValue), all)
  }

  test("an aggregation in a join's stage makes its cost an upper bound") {
    val query = "SELECT name, sum(v) FROM fact JOIN dim ON k = dk AND name <> 'd9' GROUP BY name"
    val (_, all) = measured(query, "spark.sql.autoBroadcastJoinThreshold" -> "1")
    assert(only(all).get("otherWork").booleanValue)
  }

  test("an exchange that is used twice, and partitions that are coalesced or split for skew, are counted once") {
    val query =
      """SELECT a.v, b.c FROM (SELECT k, v, name FROM fact JOIN dim ON k = dk AND name <> 'd9') a
        |JOIN (SELECT name, count(*) AS c FROM (SELECT k, v, name FROM fact JOIN dim ON k = dk AND name <> 'd9') GROUP BY name) b ON a.name = b.name""".stripMargin
    val coalesced = Seq(Merge, "spark.sql.shuffle.partitions" -> "23")
    measured(query, coalesced: _*)
    val skew = Seq(
      "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes" -> "10k",
      "spark.sql.adaptive.skewJoin.skewedPartitionFactor" -> "1",
      "spark.sql.adaptive.advisoryPartitionSizeInBytes" -> "8k"
    )
    val (_, all) = measured("SELECT * FROM skewed JOIN every ON s = dk AND dk % 50 = 3", coalesced ++ skew :+ (Gates -> "true"): _*)
    assert(number(only(all), "taskMillis") > 0)
  }

  test("what ran is what is measured: in mode observe Spark's own join, whose probe side did not wait") {
    val (_, observed) =
      measured(Join, "spark.sql.autoBroadcastJoinThreshold" -> "10m", "spark.aqePlugin.mode" -> "observe", Gates -> "true")
    assert(observed.map(_.get("strategy").textValue) == Seq("broadcast"))
    assert(observed.forall(!_.get("withFilter").booleanValue))
    val (_, started) = measured(Join, Merge, "spark.aqePlugin.mode" -> "observe")
    assert(started.map(_.get("strategy").textValue) == Seq("plain_sort_merge"))
  }

  test("a query that fails has no costs") {
    drain()
    val mark = events.mark()
    withConf("spark.sql.ansi.enabled" -> "true", Merge, Gates -> "true") {
      intercept[Exception](spark.sql("SELECT *, 1 / (v - v) FROM fact JOIN dim ON k = dk AND name <> 'd9'").collect())
    }
    drain()
    val failed = costs(events.since(mark).collect { case e: QueryEnded => e })
    assert(failed.nonEmpty && why(failed) == Set("query_failed"))
  }

  test("a join that Spark takes out of the plan, since its filter left no row, has no cost") {
    val (_, all) = measured("SELECT * FROM fact JOIN far ON k = dk AND name <> 'd9'", Merge, Gates -> "true")
    assert(why(all) == Set("not_in_final_plan"), all)
  }

  /** What is said of the cost of a query that ran, had `runs` been its stages; a price is put where the decision has none. */
  private def costsOf(result: Ran, runs: Seq[StageRun]): Set[Either[Unmeasured, Boolean]] = {
    val state = new QueryState(-1)
    result.decided.map(_.decision).foreach {
      case node: ObjectNode =>
        val decision = DecisionJson.read(node).fold(fail(_), identity)
        val options = JoinOption.All.map(option => WeighedOption(option.strategy, option.withFilter, Some(10), decision.reason))
        state.decideOnce(decision.facts.joinId)(decision.copy(options = options))
      case other => fail(s"no decision: $other")
    }
    runs.foreach(state.stages.add)
    MeasuredCosts.of(state, Some(result.plan), failed = false, Nil).map(_.measured.map(_.taskMillis > 0)).toSet
  }

  private def runs(parts: Seq[StagePart]): Seq[StageRun] =
    parts.map(part => StageRun(part.shuffleId, 1000000, if (part.shuffleId.isEmpty) part.metrics else Set.empty))

  test("a stage whose end was not announced is a reason and no number, and so are too many of them") {
    val (result, _) = measured(share(50), Filtered: _*)
    val parts = new StageParts(result.plan, _ => None).parts
    assert(costsOf(result, runs(parts)) == Set(Right(true)))
    assert(costsOf(result, Nil) == Set(Left(Unmeasured.StageNotSeen)))
    val (own, others) = parts.partition(_.joins.nonEmpty)
    assert(costsOf(result, runs(others)) == Set(Left(Unmeasured.StageNotSeen)))
    assert(costsOf(result, runs(own)) == Set(Left(Unmeasured.StageNotSeen)))
    assert(costsOf(result, Seq.fill(StageTimes.MaxStages + 1)(runs(own).head)) == Set(Left(Unmeasured.TooManyStages)))
  }

  test("a join of which a stage was run again is a reason and no number") {
    val (result, _) = measured(share(50), Filtered: _*)
    val all = runs(new StageParts(result.plan, _ => None).parts)
    all.indices.foreach { failed =>
      val retried = all.updated(failed, all(failed).copy(again = true))
      assert(costsOf(result, retried).subsetOf(Set(Right(true), Left(Unmeasured.RanTwice))))
    }
    assert(costsOf(result, all.map(_.copy(again = true))) == Set(Left(Unmeasured.RanTwice)))
  }

  test("a stage that may be of one part of the plan or of another counts for neither") {
    val (result, _) = measured(Join, "spark.sql.autoBroadcastJoinThreshold" -> "1")
    val parts = new StageParts(result.plan, _ => None).parts
    assert(costsOf(result, runs(parts)) == Set(Right(true)))
    val both = StageRun(None, 1, parts.filter(_.shuffleId.isEmpty).flatMap(_.metrics).toSet)
    assert(costsOf(result, runs(parts) :+ both) == Set(Left(Unmeasured.StageNotSeen)))
  }

  test("aqe_decisions() has what a join cost beside what it was expected to cost") {
    spark.sparkContext.setJobDescription("measured")
    try { val _ = withConf("spark.sql.autoBroadcastJoinThreshold" -> "1")(spark.sql(Join).collect()) }
    finally spark.sparkContext.clearJobGroup()
    drain()
    val rows = spark.sql(
      """SELECT ran_as, measured_cost_millis > 0, measured_task_millis > 0, measured_driver_millis > 0, measured_shared, not_measured
        |FROM aqe_decisions() WHERE description = 'measured'""".stripMargin
    ).collect()
    assert(rows.toSeq == Seq(Row("broadcast", true, true, true, false, null)))
  }
}
