package io.aqeplugin.regression

import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, ShuffledHashJoinExec, SortMergeJoinExec}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.{PluginSession, Ran}

/** AQE sets its own hints on joins whose finished stage has many empty partitions or only small ones. They were mistaken for the author's,
  * and the join was left alone.
  */
class SparksOwnHintsSuite extends AnyFunSuite with PluginSession {

  private val ManyPartitions = "spark.sql.shuffle.partitions" -> "200"
  private val Threshold = "spark.sql.autoBroadcastJoinThreshold"
  private val BroadcastPays = "spark.aqePlugin.cost.shuffleNanosPerRow" -> "100000"
  private val MergePays = "spark.aqePlugin.broadcast.maxRows" -> "1"
  private val SmallPartitions = "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold" -> "1g"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    table("fact", "SELECT CAST(id % 900 AS int) AS k, id AS v FROM range(20000)", files = 2)
    table("dim", "SELECT CAST(id AS int) AS dk, 'd' || id AS name FROM range(900)")
  }

  private def selective(hint: String): String = s"SELECT $hint * FROM fact JOIN dim ON k = dk WHERE name < 'd104'"

  private def joinsOf(ran: Ran): Seq[String] = collect(ran.plan) {
    case _: BroadcastHashJoinExec => "broadcast"
    case _: SortMergeJoinExec     => "merge"
    case _: ShuffledHashJoinExec  => "shuffle_hash"
  }

  private def choices(ran: Ran): Seq[(String, Boolean)] =
    ran.decided.map(_.decision).map(d => d.path("choice").asText -> (d.path("reason").path("code").asText == "HINT"))

  /** What Spark does by itself, as the decisions say. */
  private def ofSpark(ran: Ran): Seq[String] = ran.decided.map(_.decision.path("facts").path("sparkStrategy").asText).map {
    case "plain_sort_merge" => "merge"
    case "shuffled_hash"    => "shuffle_hash"
    case other              => other
  }

  test("a build side with mostly empty partitions is broadcast where that is cheaper") {
    withConf(ManyPartitions, Threshold -> "1", BroadcastPays) {
      val result = sameRows(spark.sql(selective("")))
      assert(choices(result) == Seq("broadcast" -> false), result.decided)
      assert(joinsOf(result) == Seq("broadcast"))
    }
  }

  test("AQE's own hint against a broadcast does not affect the decision") {
    withConf(ManyPartitions, Threshold -> "1", "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "10m") {
      val result = sameRows(spark.sql(selective("")))
      assert(choices(result) == Seq("broadcast" -> false), result.decided)
      assert(joinsOf(result) == Seq("broadcast"))
    }
  }

  for (
    (what, partitions) <- Seq("empty and small" -> "200", "small" -> "2");
    (cheaper, conf) <- Seq("broadcast" -> BroadcastPays, "merge" -> MergePays)
  )
    test(s"AQE's hash join of $what partitions stays, with a filter ($cheaper is cheaper)") {
      withConf("spark.sql.shuffle.partitions" -> partitions, Threshold -> "1", conf, SmallPartitions) {
        val result = sameRows(spark.sql(selective("")))
        assert(choices(result) == Seq("leave_to_spark" -> false), result.decided)
        assert(result.decided.map(_.decision.path("reason").path("code").asText) == Seq("OTHER_STRATEGY"))
        assert(joinsOf(result) == Seq("shuffle_hash"))
        assert(ofSpark(result) == Seq("shuffle_hash"))
        assert(filtered(result).nonEmpty)
      }
    }

  for (
    (hint, join) <-
      Seq("SHUFFLE_HASH(dim)" -> "shuffle_hash", "MERGE(dim)" -> "merge", "MERGE(fact)" -> "merge", "BROADCAST(dim)" -> "broadcast")
  )
    test(s"the author's hint $hint overrides AQE's own hint") {
      withConf(ManyPartitions, Threshold -> "1", BroadcastPays) {
        val result = sameRows(spark.sql(selective(s"/*+ $hint */")))
        assert(choices(result) == Seq("leave_to_spark" -> true), result.decided)
        assert(joinsOf(result) == Seq(join))
        assert(ofSpark(result) == Seq(join))
      }
    }

  test("a hash join of the probe side is another method") {
    withConf(ManyPartitions, Threshold -> "1", BroadcastPays) {
      val result = sameRows(spark.sql(selective("/*+ SHUFFLE_HASH(fact) */")))
      assert(joinsOf(result) == Seq("shuffle_hash") && ofSpark(result) == Seq("leave_to_spark"), result.decided)
    }
  }

  for (hint <- Seq("SHUFFLE_HASH(dim)", "SHUFFLE_MERGE(dim)", "BROADCAST(dim)"); explained <- Seq(false, true))
    test(s"the author's hint $hint is recorded as such ${if (explained) "after an explain" else "without an explain"}") {
      withConf(ManyPartitions, Threshold -> "1", BroadcastPays) {
        val frame = spark.sql(selective(s"/*+ $hint */"))
        if (explained) frame.queryExecution.executedPlan.foreach(_ => ())
        val result = ran(frame)
        assert(choices(result) == Seq("leave_to_spark" -> true), result.decided)
        assert(ofSpark(result) == joinsOf(result))
      }
    }
}
