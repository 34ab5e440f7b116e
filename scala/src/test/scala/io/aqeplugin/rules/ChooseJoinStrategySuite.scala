package io.aqeplugin.rules

import org.apache.spark.sql.catalyst.plans.logical._
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.{DecideJoin, FactsGen, JoinDecision, JoinOption, Strategy, Thresholds}

/** The hint that makes Spark do what was decided for a join that is built from its right side. */
class ChooseJoinStrategySuite extends AnyFunSuite {

  private def decision(choice: Strategy, sparkStrategy: Strategy): JoinDecision = {
    val facts = FactsGen.Typical.copy(sparkStrategy = sparkStrategy)
    val method = JoinOption.All.find(_.strategy == choice).map(_.method)
    DecideJoin.decide(facts, Thresholds.Default).copy(method = method, buildFilter = choice == Strategy.FilteredSortMerge)
  }

  private def missing(
      choice: Strategy,
      sparkStrategy: Strategy,
      build: Option[JoinStrategyHint] = None,
      probe: Option[JoinStrategyHint] = None
  ) = {
    def info(strategy: Option[JoinStrategyHint]) = strategy.map(known => HintInfo(strategy = Some(known)))
    ChooseJoinStrategy.missing(decision(choice, sparkStrategy), JoinHint(info(probe), info(build)))
  }

  import Strategy.{Broadcast, FilteredSortMerge, LeaveToSpark, PlainSortMerge}

  test("no hint where Spark does the same by itself, or is to do what it likes") {
    assert(missing(Broadcast, Broadcast).isEmpty)
    assert(missing(PlainSortMerge, PlainSortMerge).isEmpty)
    assert(missing(LeaveToSpark, Broadcast).isEmpty)
  }

  test("a hint where Spark does something else by itself") {
    assert(missing(Broadcast, PlainSortMerge).contains(BROADCAST))
    assert(missing(FilteredSortMerge, Broadcast).contains(NO_BROADCAST_HASH))
  }

  test("a broadcast is asked for against a hint of AQE on either side") {
    assert(missing(Broadcast, Broadcast, build = Some(NO_BROADCAST_HASH)).contains(BROADCAST))
    assert(missing(Broadcast, Broadcast, probe = Some(PREFER_SHUFFLE_HASH)).contains(BROADCAST))
  }

  test("a sort-merge join keeps a hint of AQE against a broadcast, and not one that allows it") {
    assert(missing(PlainSortMerge, Broadcast, build = Some(NO_BROADCAST_HASH)).isEmpty)
    assert(missing(PlainSortMerge, Broadcast, build = Some(SHUFFLE_HASH)).isEmpty)
  }

  test("without its broadcast, a join for which AQE prefers hashing is hashed") {
    assert(missing(PlainSortMerge, Broadcast, build = Some(PREFER_SHUFFLE_HASH)).contains(SHUFFLE_HASH))
    assert(missing(LeaveToSpark, LeaveToSpark, build = Some(PREFER_SHUFFLE_HASH)).isEmpty)
  }

  test("a hint of ours is not set a second time") {
    assert(missing(Broadcast, PlainSortMerge, build = Some(BROADCAST), probe = Some(NO_BROADCAST_HASH)).isEmpty)
  }
}
