package io.aqeplugin.observe

import java.util.concurrent.TimeUnit

import scala.collection.mutable

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide._

/** Which executions have a state, with a clock and a Spark of the test. */
class QueryStatesSuite extends AnyFunSuite {

  /** Executions 1 to 9 run until they are taken out of `running`. */
  private final class Spark {
    var running: Set[Long] = (1L to 9L).toSet
    var nowMinutes: Long = 0L
    val states = new QueryStates(id => running.contains(id), () => TimeUnit.MINUTES.toNanos(nowMinutes))
  }

  test("an execution has one state until it is removed") {
    val states = (new Spark).states
    val state = states.of(1L)
    assert(states.of(1L) eq state)
    assert(states.get(1L).contains(state))
    assert(states.remove(1L).contains(state))
    assert(states.get(1L).isEmpty)
  }

  test("what queries hold by their decisions is held until they end; those in mode observe hold nothing") {
    val states = (new Spark).states
    val decision = DecideJoin.decide(FactsGen.Typical, Thresholds.Default)
    Seq(1L -> Mode.Apply, 2L -> Mode.Apply, 3L -> Mode.Observe).foreach { case (id, mode) =>
      val state = states.of(id)
      val _ = state.confOnce(QueryConf(
        mode,
        Thresholds.Default,
        new ClusterSeen(ClusterFacts(2, 1)),
        PruningBuilds.None,
        QueryOrigin.Unknown,
        None
      ))
      Seq("join", "join", "other").foreach(join => state.decideOnce(join)(decision))
    }
    val each = MemoryBudget.heldBy(decision, Thresholds.Default)
    assert(each > 0 && states.heldBytes == 4 * each)
    val _ = states.remove(1L)
    assert(states.heldBytes == 2 * each)
  }

  test("a state without an announced end is ended and removed when other queries are planned") {
    val spark = new Spark
    val freed = mutable.Buffer.empty[Int]
    val lost = spark.states.of(1L)
    lost.atEnd(() => throw new IllegalStateException("a fault of one ending"))
    lost.atEnd { () =>
      val _ = freed += 1
    }
    spark.running -= 1L
    val _ = spark.states.of(2L)
    spark.nowMinutes = 2
    val _ = spark.states.of(3L)
    assert(spark.states.get(1L).isEmpty && freed == Seq(1))
    assert(spark.states.get(2L).isDefined)
    assert(spark.states.size == 2)
  }

  test("a state is kept for an announcement that comes after the end") {
    val spark = new Spark
    val _ = spark.states.of(1L)
    spark.nowMinutes = 60
    spark.running -= 1L
    val _ = (spark.states.of(2L), spark.states.of(3L))
    assert(spark.states.remove(1L).isDefined)
  }

  test("a state made for an ended execution is removed too") {
    val spark = new Spark
    val _ = (spark.states.of(77L), spark.states.of(1L))
    assert(spark.states.size == 2)
    spark.nowMinutes = 2
    val _ = spark.states.of(2L)
    assert(spark.states.get(77L).isEmpty)
  }

  test("a long-running query keeps its state") {
    val spark = new Spark
    val state = spark.states.of(1L)
    for (minute <- 2L to 9L) {
      spark.nowMinutes = minute * 60
      val _ = spark.states.of(minute)
    }
    assert(spark.states.get(1L).contains(state))
  }
}
