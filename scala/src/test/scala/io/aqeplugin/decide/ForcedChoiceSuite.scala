package io.aqeplugin.decide

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.conf.{AqeConf, Forced, ForcedMethod, ForcedOption}
import io.aqeplugin.e2e.Extent

class ForcedChoiceSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  import FactsGen.Typical

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration = PropertyCheckConfiguration(minSuccessful = Extent.inputs(2000))

  private def forcing(option: ForcedOption, thresholds: Thresholds = Thresholds.Default): Thresholds =
    thresholds.updated(AqeConf.Force, Forced(Map.empty, Some(option)))

  private def decide(facts: JoinFacts, option: ForcedOption): JoinDecision = DecideJoin.decide(facts, forcing(option))

  private def forAllForced(check: (JoinFacts, ForcedOption, Thresholds, JoinDecision) => Any): Unit =
    forAll(FactsGen.joinFacts, Gen.oneOf(ForcedOption.All), FactsGen.thresholds) { (facts, option, thresholds) =>
      check(facts, option, thresholds, DecideJoin.decide(facts, forcing(option, thresholds)))
      ()
    }

  for (option <- ForcedOption.All)
    test(s"${option.name} is taken where everything is legal") {
      val decision = decide(Typical, option)
      val filterIsForced = decision.buildFilter == option.withFilter && decision.filterReason.code == ReasonCode.Forced
      assert(filterIsForced && decision.filterReason.confKey == "spark.aqePlugin.force")
      val model = DecideJoin.decide(Typical, Thresholds.Default)
      val (method, reason) = option.method match {
        case ForcedMethod.Broadcast    => Some(Method.Broadcast) -> ReasonCode.Forced
        case ForcedMethod.ShuffledHash => Some(Method.ShuffledHash) -> ReasonCode.Forced
        case ForcedMethod.SortMerge    => Some(Method.SortMerge) -> ReasonCode.Forced
        case ForcedMethod.OfSpark      => None -> ReasonCode.Forced
        case ForcedMethod.OfModel      => model.method -> model.reason.code
      }
      assert(decision.method == method && decision.reason.code == reason)
    }

  test("the names of options are those of strategies and filters") {
    val strategies = ForcedOption.All.map(_.name.takeWhile(_ != '+')).flatMap(Strategy.fromName)
    assert(strategies.toSet == Strategy.All.toSet)
  }

  test("the options have the prices that the model gives them") {
    forAllForced { (facts, _, thresholds, decision) =>
      val model = DecideJoin.decide(facts.copy(probe = facts.probe.copy(started = false)), thresholds)
      assert(decision.options.map(_.copy(reason = decision.reason)) == model.options.map(_.copy(reason = decision.reason)))
      assert(decision.passRate == model.passRate)
    }
  }

  test("a forced decision says what the model decides by the same facts, as if a probe side that was forced to start were waiting") {
    forAllForced { (facts, _, thresholds, decision) =>
      val seen = if (isForcedToStart(facts)) facts.copy(probe = facts.probe.copy(started = false)) else facts
      val model = DecideJoin.decide(seen, thresholds)
      assert(decision.unforced.contains(Unforced(model.choice, model.reason, model.buildFilter, model.filterReason)))
      assert(model.unforced.isEmpty)
    }
  }

  test("an option that another one was forced over says so; what is impossible keeps its obstacle") {
    forAllForced { (facts, option, thresholds, decision) =>
      val model = DecideJoin.decide(facts.copy(probe = facts.probe.copy(started = false)), thresholds)
      decision.options.zip(model.options).foreach { case (weighed, modelled) =>
        val isAllowed = weighed.costMillis.isDefined &&
          (decision.reason.code == ReasonCode.Forced ||
            decision.buildFilter == option.withFilter && weighed.option.withFilter != option.withFilter)
        val isForcedOver = isAllowed || modelled.reason.code == ReasonCode.NoTargetScan && isForcedToStart(facts)
        val forced = Reason(ReasonCode.Forced, confKey = "spark.aqePlugin.force")
        val isNoLongerOpen = decision.method.isEmpty && model.taken.contains(weighed.option)
        if (isForcedOver) assert(weighed.reason == forced)
        else if (isNoLongerOpen) assert(weighed.reason == DecideJoin.decide(facts, thresholds).reason)
        else assert(weighed.reason == modelled.reason)
      }
    }
  }

  private def isForcedToStart(facts: JoinFacts): Boolean =
    facts.waiting.exists(wait => !wait.waits && wait.reason.code == ReasonCode.Forced)

  for (option <- Seq(ForcedOption.PlainSortMerge, ForcedOption.LeaveToSpark, ForcedOption.ShuffledHash))
    test(s"after ${option.name} was forced, filters are missing because of that and not for want of a scan") {
      val started = Typical.probe.copy(targets = 0, started = true)
      val decision = decide(Typical.copy(probe = started, waiting = Some(waits(Typical, option))), option)
      val refused = decision.options.filter(_.option.withFilter)
      assert(refused.size == 3 && refused.forall(one => one.reason.code == ReasonCode.Forced && one.costMillis.isEmpty))
      val unreached = Typical.copy(probe = started.copy(started = false))
      val without = decide(unreached.copy(waiting = Some(waits(unreached, option))), option)
      assert(without.options.filter(_.option.withFilter).forall(_.reason.code == ReasonCode.NoTargetScan))
    }

  test("a filter is forced only where it is legal; else the reason is the obstacle") {
    forAllForced { (facts, option, thresholds, decision) =>
      val obstacle = new Obstacles(facts, thresholds).ofFilter(decision.method.getOrElse(facts.sparkMethod))
      assert(decision.buildFilter == (option.withFilter && obstacle.isEmpty))
      if (option.withFilter) obstacle.foreach(reason => assert(decision.filterReason == reason))
    }
  }

  test("a new broadcast is forced only within the limits") {
    forAllForced { (facts, option, thresholds, decision) =>
      if (option.method == ForcedMethod.Broadcast) {
        if (decision.reason.code == ReasonCode.Forced) assert(BroadcastChoice.ruledOut(facts, thresholds).isEmpty && facts.hint.isEmpty)
        else assert(decision.method == DecideJoin.decide(facts, thresholds).method)
      }
    }
  }

  test("a shuffled hash join is forced only if a task can hold the build side, also after the probe side has started") {
    forAllForced { (facts, option, thresholds, decision) =>
      if (option.method == ForcedMethod.ShuffledHash) {
        val obstacle = ShuffledHashChoice.ruledOut(facts, thresholds)
        if (decision.reason.code == ReasonCode.Forced) assert(obstacle.isEmpty && facts.hint.isEmpty)
        else assert(obstacle.isDefined || DecideJoin.whyFixed(facts).isDefined)
      }
    }
  }

  test("a build side that is broadcast already stays so, whatever is forced") {
    forAllForced((facts, _, _, decision) => if (facts.build.alreadyBroadcast) assert(decision.method.forall(_ == Method.Broadcast)))
  }

  test("what was refused has its own reason") {
    def reasonOf(facts: JoinFacts, option: ForcedOption): ReasonCode = decide(facts, option).reason.code
    val started = Typical.copy(probe = Typical.probe.copy(started = true))
    assert(reasonOf(Typical.copy(canBroadcast = false), ForcedOption.Broadcast) == ReasonCode.BroadcastJoinType)
    assert(reasonOf(Typical.copy(build = Typical.build.copy(rows = 9000000)), ForcedOption.Broadcast) == ReasonCode.BroadcastRows)
    assert(reasonOf(Typical.copy(hint = Some("merge")), ForcedOption.Broadcast) == ReasonCode.Hint)
    assert(reasonOf(started, ForcedOption.FilteredBroadcast) == ReasonCode.ProbeStarted)
    assert(reasonOf(started, ForcedOption.PlainSortMerge) == ReasonCode.Forced)
    val outer = decide(Typical.copy(kind = JoinKind.LeftOuter), ForcedOption.FilteredSortMerge)
    assert(outer.method.contains(Method.SortMerge) && !outer.buildFilter && outer.filterReason.code == ReasonCode.JoinType)
  }

  private def wait(join: JoinFacts): WaitFacts =
    WaitFacts(join, buildScanBytes = 60000000, buildTasks = 1, shufflePartitions = 200, otherRunnableTasks = 0)

  private def waits(join: JoinFacts, option: ForcedOption): WaitDecision = WaitPrice.decide(wait(join), forcing(option))

  for (option <- ForcedOption.All if option.withFilter)
    test(s"the probe side waits for ${option.name} even if that does not pay") {
      val poor = Typical.copy(build = Typical.build.copy(rows = 2800000))
      val decision = waits(poor, option)
      assert(decision.waits && decision.reason == Reason(ReasonCode.Forced, confKey = "spark.aqePlugin.force"))
    }

  for (option <- Seq(ForcedOption.PlainSortMerge, ForcedOption.ShuffledHash, ForcedOption.LeaveToSpark))
    test(s"the probe side does not wait for ${option.name} even if that pays") {
      val model = WaitPrice.decide(wait(Typical), Thresholds.Default)
      val decision = waits(Typical, option)
      assert(model.waits && !decision.waits && decision.reason.code == ReasonCode.Forced)
      assert((decision.savingMillis, decision.idleMillis) == ((model.savingMillis, model.idleMillis)))
    }

  test("the probe side waits for a broadcast only if Spark would sort") {
    assert(waits(Typical, ForcedOption.Broadcast).waits)
    assert(!waits(Typical.copy(sparkStrategy = Strategy.Broadcast), ForcedOption.Broadcast).waits)
  }

  test("no probe side waits for a filter that is illegal") {
    val decision = waits(Typical.copy(filterObstacle = Some(ReasonCode.ReusedExchange)), ForcedOption.FilteredSortMerge)
    assert(!decision.waits && decision.reason.code == ReasonCode.ReusedExchange)
    assert(!waits(Typical.copy(probe = Typical.probe.copy(started = true)), ForcedOption.Filter).waits)
  }
}
