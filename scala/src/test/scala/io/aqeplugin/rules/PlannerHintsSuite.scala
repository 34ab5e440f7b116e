package io.aqeplugin.rules

import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.catalyst.plans.logical._
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.{DecideJoin, FactsGen, JoinDecision, Side, Strategy, Thresholds}

/** The hints with which Spark does what was decided for a join that is built from its right side. */
class PlannerHintsSuite extends AnyFunSuite {

  private def decision(choice: Strategy, sparkStrategy: Strategy): JoinDecision = {
    val facts = FactsGen.Typical.copy(sparkStrategy = sparkStrategy)
    DecideJoin.decide(facts, Thresholds.Default).copy(choice = choice, buildFilter = choice == Strategy.FilteredSortMerge)
  }

  private def info(strategy: Option[JoinStrategyHint]): Option[HintInfo] = strategy.map(known => HintInfo(strategy = Some(known)))

  private def missing(
      choice: Strategy,
      sparkStrategy: Strategy,
      build: Option[JoinStrategyHint] = None,
      probe: Option[JoinStrategyHint] = None
  ): Option[JoinStrategyHint] = PlannerHints(build, probe).missing(decision(choice, sparkStrategy))

  import Strategy.{Broadcast, FilteredSortMerge, LeaveToSpark, PlainSortMerge, ShuffledHash}

  test("no hint is set where Spark carries out the decision by itself") {
    assert(missing(Broadcast, Broadcast).isEmpty)
    assert(missing(PlainSortMerge, PlainSortMerge).isEmpty)
    assert(missing(LeaveToSpark, Broadcast).isEmpty)
  }

  test("a hint is set where Spark would do something else") {
    assert(missing(Broadcast, PlainSortMerge).contains(BROADCAST))
    assert(missing(FilteredSortMerge, Broadcast).contains(NO_BROADCAST_HASH))
  }

  test("a broadcast is requested despite AQE's hint on either side") {
    assert(missing(Broadcast, Broadcast, build = Some(NO_BROADCAST_HASH)).contains(BROADCAST))
    for (prefer <- ThisSparkLine.preferredHash) assert(missing(Broadcast, Broadcast, probe = Some(prefer)).contains(BROADCAST))
  }

  test("a shuffled hash join is hinted on the build side, once") {
    assert(missing(ShuffledHash, PlainSortMerge).contains(SHUFFLE_HASH))
    assert(missing(ShuffledHash, Broadcast, build = Some(NO_BROADCAST_HASH)).contains(SHUFFLE_HASH))
    assert(missing(ShuffledHash, PlainSortMerge, build = Some(SHUFFLE_HASH)).isEmpty)
  }

  test("a sort-merge join keeps only AQE's hints against a broadcast") {
    assert(missing(PlainSortMerge, Broadcast, build = Some(NO_BROADCAST_HASH)).isEmpty)
    assert(missing(PlainSortMerge, Broadcast, build = Some(SHUFFLE_HASH)).isEmpty)
  }

  for (prefer <- ThisSparkLine.preferredHash) test("without a broadcast, a join for which AQE prefers hashing is hashed") {
    assert(missing(PlainSortMerge, Broadcast, build = Some(prefer)).contains(SHUFFLE_HASH))
    assert(missing(LeaveToSpark, ShuffledHash, build = Some(prefer)).isEmpty)
  }

  test("a join that AQE hashes by the size of its build side is predicted to be hashed, unless it is broadcast or cannot be hashed") {
    def strategy(broadcasts: Boolean = false, mayHash: Boolean = true): Strategy =
      PlannerHints.Empty.sparkStrategy(broadcasts, mayHash, hashesBySize = true)
    assert(strategy() == ShuffledHash && strategy(broadcasts = true) == Broadcast && strategy(mayHash = false) == PlainSortMerge)
  }

  test("where both sides are to be hashed, Spark hashes either; where the build side cannot be hashed, it sorts") {
    val ofHash = Seq(SHUFFLE_HASH) ++ ThisSparkLine.preferredHash
    def strategy(build: Option[JoinStrategyHint], probe: Option[JoinStrategyHint], mayHash: Boolean = true): Strategy =
      PlannerHints(build, probe).sparkStrategy(broadcastsBySize = false, mayHash)
    assert(ofHash.forall(hint => strategy(Some(hint), None) == ShuffledHash))
    assert(ofHash.forall(hint => strategy(Some(hint), ofHash.lastOption) == LeaveToSpark))
    assert(ofHash.forall(hint => strategy(Some(hint), None, mayHash = false) == PlainSortMerge))
  }

  test("the plugin's hint is not set twice") {
    assert(missing(Broadcast, PlainSortMerge, build = Some(BROADCAST), probe = Some(NO_BROADCAST_HASH)).isEmpty)
  }

  for (ofAqe <- Seq(NO_BROADCAST_HASH, SHUFFLE_HASH) ++ ThisSparkLine.preferredHash; buildSide <- Seq(Side.Left, Side.Right))
    test(s"AQE's hint ${ofAqe.displayName} stays beside a broadcast of the ${buildSide.name} side") {
      val broadcast = decision(Broadcast, PlainSortMerge)
      val built = broadcast.copy(facts = broadcast.facts.copy(buildSide = buildSide))
      val (left, right) = if (buildSide == Side.Left) (None, Some(ofAqe)) else (Some(ofAqe), None)
      val hinted = PlannerHints.carryOut(built, JoinHint(info(left), info(right)))
      assert(PlannerHints.of(hinted, buildSide) == PlannerHints(build = Some(BROADCAST), probe = Some(ofAqe)))
    }

  test("the decision's hint replaces AQE's on the build side") {
    val hint = JoinHint(info(None), info(Some(SHUFFLE_HASH)))
    assert(PlannerHints.carryOut(decision(Broadcast, ShuffledHash), hint).rightHint == info(Some(BROADCAST)))
  }

  test("hints that already carry out the decision stay unchanged") {
    val hint = JoinHint(info(Some(NO_BROADCAST_HASH)), info(Some(BROADCAST)))
    assert(PlannerHints.carryOut(decision(Broadcast, PlainSortMerge), hint) eq hint)
  }
}
