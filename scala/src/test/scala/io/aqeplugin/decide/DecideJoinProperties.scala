package io.aqeplugin.decide

import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.conf.AqeConf

class DecideJoinProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration = PropertyCheckConfiguration(minSuccessful = 2000)

  private def forAllDecisions(check: (JoinFacts, Thresholds, JoinDecision) => Any): Unit =
    forAll(FactsGen.joinFacts, FactsGen.thresholds) { (facts, thresholds) =>
      check(facts, thresholds, DecideJoin.decide(facts, thresholds))
      ()
    }

  private def reasons(decision: JoinDecision): Seq[Reason] = Seq(decision.reason, decision.filterReason) ++ decision.options.map(_.reason)

  test("any facts have a decision, whose numbers are numbers") {
    forAllDecisions { (_, _, decision) =>
      assert(decision.passRate >= 0 && decision.passRate <= 1)
      val numbers = decision.options.flatMap(_.costMillis) ++ reasons(decision).flatMap(reason => reason.measured ++ reason.limit)
      assert(numbers.forall(number => !number.isNaN && !number.isInfinity && number >= -1))
    }
  }

  test("the same facts have the same decision") {
    forAllDecisions((facts, thresholds, decision) => assert(DecideJoin.decide(facts, thresholds) == decision))
  }

  test("every option is there once with its reason, and only the taken one's reason is the decision's") {
    forAllDecisions { (_, _, decision) =>
      assert(decision.options.map(_.option) == JoinOption.All)
      val taken = decision.options.filter(weighed => decision.taken.contains(weighed.option))
      if (decision.choice == Strategy.LeaveToSpark) assert(taken.isEmpty) else assert(taken.map(_.reason) == Seq(decision.reason))
    }
  }

  test("a filter is only built where no row that matters can be lost and the plan has nothing against it") {
    forAllDecisions { (facts, _, decision) =>
      if (decision.buildFilter) {
        assert(facts.kind.mayFilter(facts.buildSide.other))
        assert(facts.build.keys.supported && facts.probe.targets > 0 && !facts.probe.started && facts.filterObstacle.isEmpty)
      }
    }
  }

  test("a filter is never larger than its cap, also when every gate is open") {
    forAllDecisions { (facts, thresholds, decision) =>
      if (decision.buildFilter) assert(FilterSize.of(facts.build, thresholds).bytes <= thresholds(AqeConf.FilterMaxBytes))
    }
  }

  test("only what fits is broadcast anew") {
    forAllDecisions { (facts, thresholds, decision) =>
      if (decision.choice == Strategy.Broadcast && !facts.build.alreadyBroadcast) {
        assert(facts.canBroadcast && facts.build.rows <= thresholds(AqeConf.BroadcastMaxRows))
        assert(BroadcastChoice.relationBytes(facts.build, thresholds) <= thresholds(AqeConf.BroadcastMaxMemoryBytes))
      }
    }
  }

  test("a build side that is broadcast already stays so") {
    forAllDecisions { (facts, _, decision) =>
      if (facts.build.alreadyBroadcast) assert(decision.choice == Strategy.Broadcast || decision.choice == Strategy.LeaveToSpark)
    }
  }

  test("a hint, a started probe side and unknown build rows leave the method to Spark") {
    forAllDecisions { (facts, _, decision) =>
      if (facts.hint.isDefined || facts.probe.started || facts.build.rows < 0) assert(decision.choice == Strategy.LeaveToSpark)
      else if (facts.sparkStrategy != Strategy.LeaveToSpark) assert(decision.choice != Strategy.LeaveToSpark)
    }
  }

  test("with open gates every legal filter is built and the method is the same") {
    forAllDecisions { (facts, thresholds, _) =>
      val closed = DecideJoin.decide(facts, thresholds.updated(AqeConf.TestOpenGates, false))
      val open = DecideJoin.decide(facts, thresholds.updated(AqeConf.TestOpenGates, true))
      assert(open.buildFilter == FilterChoice.illegal(facts, FilterSize.of(facts.build, thresholds), thresholds).isEmpty)
      assert((open.choice == Strategy.Broadcast) == (closed.choice == Strategy.Broadcast))
      assert((open.choice == Strategy.LeaveToSpark) == (closed.choice == Strategy.LeaveToSpark))
    }
  }

  test("no free option that is clearly cheaper than the taken one is left") {
    forAllDecisions { (facts, thresholds, decision) =>
      if (!thresholds.openGates && decision.choice != Strategy.LeaveToSpark) {
        val taken = decision.options.find(weighed => decision.taken.contains(weighed.option))
        val takenMillis = taken.flatMap(_.costMillis)
        // Twice the tie share: once between with and without a filter, once between the methods.
        val margin = math.pow(1 - thresholds(AqeConf.CostTieRatio), 2) * (1 - 1e-12)
        decision.options.flatMap(_.costMillis).foreach(cost => assert(takenMillis.exists(_ * margin <= cost)))
      }
    }
  }

  test("a dearer broadcast is never more likely") {
    forAllDecisions { (facts, thresholds, decision) =>
      val dearer = thresholds.updated(AqeConf.CostBroadcastNanosPerByte, thresholds(AqeConf.CostBroadcastNanosPerByte) * 10)
      val noFilter = facts.copy(build = facts.build.copy(keys = facts.build.keys.copy(supported = false)))
      val before = DecideJoin.decide(noFilter, thresholds)
      val after = DecideJoin.decide(noFilter, dearer)
      if (before.choice == Strategy.PlainSortMerge) assert(after.choice == Strategy.PlainSortMerge)
    }
  }

  test("the conf keys that reasons name exist, in the plugin or in Spark") {
    val keys = AqeConf.All.map(_.key).toSet ++ Set("", Thresholds.Default.sparkThresholdKey)
    forAllDecisions((_, _, decision) => assert(reasons(decision).forall(reason => keys(reason.confKey))))
  }

  test("every wait has an answer whose numbers are numbers, and none is made for a probe side that runs") {
    forAll(FactsGen.waitFacts, FactsGen.thresholds) { (facts, thresholds) =>
      val decision = WaitPrice.decide(facts, thresholds)
      val numbers = Seq(decision.savingMillis, decision.idleMillis) ++ decision.reason.measured ++ decision.reason.limit
      assert(numbers.forall(number => !number.isNaN && !number.isInfinity))
      if (facts.join.probe.started) assert(!decision.waits)
      if (decision.waits && !thresholds.openGates) assert(decision.savingMillis * thresholds(AqeConf.WaitSavingShare) > decision.idleMillis)
    }
  }
}
