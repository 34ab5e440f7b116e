package io.aqeplugin.decide

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.e2e.Extent

class DecideJoinProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration = PropertyCheckConfiguration(minSuccessful = Extent.inputs(1000))

  private def forAllDecisions(check: (JoinFacts, Thresholds, JoinDecision) => Any): Unit =
    forAll(FactsGen.joinFacts, FactsGen.thresholds) { (facts, thresholds) =>
      check(facts, thresholds, DecideJoin.decide(facts, thresholds))
      ()
    }

  private def reasons(decision: JoinDecision): Seq[Reason] = Seq(decision.reason, decision.filterReason) ++ decision.options.map(_.reason)

  test("any facts have a decision with finite numbers") {
    forAllDecisions { (_, _, decision) =>
      assert(decision.passRate >= 0 && decision.passRate <= 1)
      val numbers = decision.options.flatMap(_.costMillis) ++ reasons(decision).flatMap(reason => reason.measured ++ reason.limit)
      assert(numbers.forall(number => !number.isNaN && !number.isInfinity && number >= -1))
    }
  }

  test("equal facts have equal decisions") {
    forAllDecisions((facts, thresholds, decision) => assert(DecideJoin.decide(facts, thresholds) == decision))
  }

  test("every option is listed once, and the chosen one has the decision's reason") {
    forAllDecisions { (_, _, decision) =>
      assert(decision.options.map(_.option) == JoinOption.All)
      val taken = decision.options.filter(weighed => decision.taken.contains(weighed.option))
      if (decision.choice == Strategy.LeaveToSpark) assert(taken.isEmpty) else assert(taken.map(_.reason) == Seq(decision.reason))
    }
  }

  test("a filter is built only where the join type and the plan allow it") {
    forAllDecisions { (facts, _, decision) =>
      if (decision.buildFilter) {
        assert(facts.kind.mayFilter(facts.buildSide.other))
        assert(facts.build.keys.supported && facts.probe.targets > 0 && !facts.probe.started && facts.filterObstacle.isEmpty)
      }
    }
  }

  test("a filter never exceeds its size limit, even with open gates") {
    forAllDecisions { (facts, thresholds, decision) =>
      if (decision.buildFilter) assert(FilterSize.of(facts.build, thresholds).bytes <= thresholds(AqeConf.FilterMaxBytes))
    }
  }

  test("a new broadcast is within the limits") {
    forAllDecisions { (facts, thresholds, decision) =>
      if (decision.choice == Strategy.Broadcast && !facts.build.alreadyBroadcast) {
        assert(facts.canBroadcast && facts.build.rows <= thresholds(AqeConf.BroadcastMaxRows))
        assert(BroadcastChoice.relationBytes(facts.build, thresholds) <= thresholds(AqeConf.BroadcastMaxMemoryBytes))
      }
    }
  }

  test("the hashed partitions of a build side fit into the memory that a task is sure to get") {
    forAllDecisions { (facts, thresholds, decision) =>
      if (decision.choice == Strategy.ShuffledHash) {
        val (left, hashed) = facts.memory.fold((0L, 0L))(memory => (memory.taskBytes.getOrElse(0L), memory.hashedBytes))
        val together = BroadcastChoice.relationBytes(facts.build, thresholds) + hashed
        assert(together <= math.max(hashed.toDouble, (left + hashed) * thresholds(AqeConf.ShuffledHashMaxShare)) * (1 + 1e-9))
        assert(facts.kind.mayHash(facts.buildSide) && facts.build.unmeasuredColumns == 0)
      }
    }
  }

  test("once the probe side has started, a join is hashed only if that is clearly cheaper than sorting") {
    forAllDecisions { (facts, thresholds, decision) =>
      val started = DecideJoin.decide(facts.copy(probe = facts.probe.copy(started = true)), thresholds)
      if (started.choice == Strategy.ShuffledHash) {
        def cost(option: JoinOption): Double = started.options.find(_.option == option).flatMap(_.costMillis).getOrElse(fail("no price"))
        val (hash, sort) = (cost(JoinOption.ShuffledHash), cost(JoinOption.SortMerge))
        assert(!started.buildFilter && hash < sort && hash <= sort * (1 - thresholds(AqeConf.CostTieRatio)) * (1 + 1e-9))
      }
    }
  }

  test("a build side that is already broadcast stays broadcast") {
    forAllDecisions { (facts, _, decision) =>
      if (facts.build.alreadyBroadcast) assert(decision.choice == Strategy.Broadcast || decision.choice == Strategy.LeaveToSpark)
    }
  }

  test("a hint and unknown build rows leave the method to Spark") {
    forAllDecisions { (facts, _, decision) =>
      if (facts.hint.isDefined || facts.build.rows < 0) assert(decision.choice == Strategy.LeaveToSpark)
      else if (facts.probe.started) assert(Set[Strategy](Strategy.LeaveToSpark, Strategy.ShuffledHash)(decision.choice))
      else if (DecideJoin.whyFixed(facts).isEmpty) assert(decision.choice != Strategy.LeaveToSpark)
    }
  }

  test("with open gates every legal filter is built and the method is the same") {
    forAllDecisions { (facts, thresholds, _) =>
      val closed = DecideJoin.decide(facts, thresholds.updated(AqeConf.TestOpenGates, false))
      val open = DecideJoin.decide(facts, thresholds.updated(AqeConf.TestOpenGates, true))
      val refusal = new Obstacles(facts, thresholds).ofFilter(open.method.getOrElse(facts.sparkMethod))
      assert(open.buildFilter == refusal.isEmpty)
      assert(open.method == closed.method)
    }
  }

  test("a broadcast has no filter that only spares the shuffle that it makes unnecessary") {
    forAllDecisions { (facts, _, decision) =>
      if (facts.probe.isBeforeOwnExchange && decision.method.getOrElse(facts.sparkMethod) == Method.Broadcast) assert(!decision.buildFilter)
    }
  }

  test("no allowed option is clearly cheaper than the chosen one") {
    forAllDecisions { (facts, thresholds, decision) =>
      if (!thresholds.openGates && decision.choice != Strategy.LeaveToSpark && !facts.probe.started) {
        val taken = decision.options.find(weighed => decision.taken.contains(weighed.option))
        val takenMillis = taken.flatMap(_.costMillis)
        // Twice the tie share: once for the filter, once for the method.
        val margin = math.pow(1 - thresholds(AqeConf.CostTieRatio), 2) * (1 - 1e-12)
        // A broadcast of Spark's is not given up for less.
        val launchMillis =
          if (facts.sparkMethod == Method.Broadcast) thresholds(AqeConf.CostJobLaunchNanos) / CostModel.NanosPerMilli else 0.0
        decision.options.flatMap(_.costMillis).foreach(cost => assert(takenMillis.exists(_ * margin <= cost + launchMillis)))
      }
    }
  }

  test("a higher price never makes a broadcast more likely") {
    forAllDecisions { (facts, thresholds, decision) =>
      val dearer = thresholds.updated(AqeConf.CostBroadcastNanosPerByte, thresholds(AqeConf.CostBroadcastNanosPerByte) * 10)
      // A broadcast below the join is dearer under every method, so that a saving becomes a smaller share of the price.
      val path = facts.probe.path.filterNot(_.isInstanceOf[PathStep.Broadcast])
      val noFilter = facts.copy(
        build = facts.build.copy(keys = facts.build.keys.copy(supported = false)),
        probe = facts.probe.copy(path = path)
      )
      val before = DecideJoin.decide(noFilter, thresholds).method
      val after = DecideJoin.decide(noFilter, dearer).method
      if (!before.contains(Method.Broadcast)) assert(!after.contains(Method.Broadcast))
    }
  }

  test("wider build rows never turn a sort-merge join into a hash join") {
    forAllDecisions { (facts, thresholds, decision) =>
      // A build side that must still be shuffled is sent in wider rows by every method but a broadcast, and a filter reads wider rows back.
      whenever(facts.build.exchanges <= 0 && !decision.buildFilter) {
        val bytes = facts.build.memoryBytesPerRow
        val wider = facts.copy(build = facts.build.copy(memoryBytesPerRow = math.max(bytes, math.min(bytes, Long.MaxValue / 3) * 3)))
        val after = DecideJoin.decide(wider, thresholds).method
        if (decision.method.contains(Method.SortMerge)) assert(after.contains(Method.SortMerge))
        if (decision.method.contains(Method.ShuffledHash)) assert(!after.contains(Method.Broadcast))
      }
    }
  }

  test("a better pass rate never removes a filter") {
    forAll(FactsGen.joinFacts, FactsGen.thresholds, Gen.choose(1L, 1000000L), Gen.choose(1.0, 100.0), Gen.choose(1.0, 100.0)) {
      (facts, thresholds, distinct, share, better) =>
        def decided(originDistinct: Double): JoinDecision = {
          val keys = facts.build.keys.copy(distinct = Some(distinct), originDistinct = Some(originDistinct.toLong))
          DecideJoin.decide(facts.copy(build = facts.build.copy(keys = keys), probe = facts.probe.copy(keys = None)), thresholds)
        }
        val before = decided(distinct * share)
        val after = decided(distinct * share * better)
        assert(after.passRate <= before.passRate)
        if (before.buildFilter) assert(after.buildFilter)
    }
  }

  test("more work between the scans and the join never removes a filter") {
    val sparedByAFilter = FactsGen.pathStep.suchThat(!_.isInstanceOf[PathStep.Shared]).map {
      // Of a table much larger than the cache, a filter saves almost none of the misses.
      case step: PathStep.Broadcast => step.copy(probeRows = 0)
      case step                     => step
    }
    forAll(FactsGen.joinFacts, FactsGen.thresholds, sparedByAFilter) { (facts, thresholds, step) =>
      val before = DecideJoin.decide(facts, thresholds)
      // Of work that almost all rows are left to do, so little is saved that the prices come closer in proportion.
      whenever(before.passRate < 1 - thresholds(AqeConf.CostTieRatio)) {
        val exchanges = facts.probe.exchanges + (if (step.isInstanceOf[PathStep.Shuffle] && facts.probe.exchanges < Int.MaxValue) 1 else 0)
        val after =
          DecideJoin.decide(facts.copy(probe = facts.probe.copy(path = step +: facts.probe.path, exchanges = exchanges)), thresholds)
        if (before.buildFilter) assert(after.buildFilter)
      }
    }
  }

  test("a number of shuffles below 0 costs what none costs") {
    forAll(FactsGen.joinFacts, FactsGen.thresholds, Gen.oneOf(-1, Int.MinValue, Int.MinValue + 1)) { (facts, thresholds, exchanges) =>
      def options(exchanges: Int): Seq[WeighedOption] =
        DecideJoin.decide(facts.copy(probe = facts.probe.copy(exchanges = exchanges)), thresholds).options
      assert(options(exchanges) == options(0))
    }
  }

  test("a smaller share of the shuffle never turns another join into a broadcast") {
    forAll(FactsGen.joinFacts, FactsGen.thresholds, FactsGen.shared, Gen.choose(0.0, 1.0)) { (facts, thresholds, shared, smaller) =>
      def method(share: Double): Option[Method] = {
        val others = facts.probe.path.filterNot(_.isInstanceOf[PathStep.Shared])
        val open = facts.copy(hint = None, sparkStrategy = Strategy.PlainSortMerge, build = facts.build.copy(alreadyBroadcast = false))
        DecideJoin.decide(open.copy(probe = facts.probe.copy(path = others :+ shared.copy(share = share))), thresholds).method
      }
      if (!method(shared.share).contains(Method.Broadcast)) assert(!method(shared.share * smaller).contains(Method.Broadcast))
    }
  }

  test("a shared shuffle costs a broadcast the same with and without a filter") {
    forAll(FactsGen.joinFacts, FactsGen.thresholds, FactsGen.shared) { (facts, thresholds, shared) =>
      val others = facts.probe.path.filterNot(_.isInstanceOf[PathStep.Shared])
      val model =
        new CostModel(
          facts.copy(probe = facts.probe.copy(path = others :+ shared)),
          0.5,
          FilterSize.of(facts.build, thresholds),
          thresholds
        )
      def left(withFilter: Boolean): Seq[CostTerm] =
        model.terms(JoinOption(Method.Broadcast, withFilter)).filter(term => Set("shuffle of others", "scan by itself")(term.name))
      assert(left(withFilter = true) == left(withFilter = false))
    }
  }

  test("on one slot, keys that the driver has already never remove a filter") {
    forAll(FactsGen.joinFacts, FactsGen.thresholds, Gen.choose(1L, 1000000L)) { (facts, thresholds, distinct) =>
      def decided(kept: Boolean): JoinDecision = {
        val build = facts.build.copy(keys = facts.build.keys.copy(distinct = Some(distinct), kept = kept))
        DecideJoin.decide(facts.copy(build = build, cluster = facts.cluster.copy(slots = 1)), thresholds)
      }
      if (decided(kept = false).buildFilter) assert(decided(kept = true).buildFilter)
    }
  }

  private val costs = Seq(
    AqeConf.CostShuffleNanosPerByte,
    AqeConf.CostShuffleNanosPerRow,
    AqeConf.CostSortNanosPerComparison,
    AqeConf.CostMergeNanosPerRow,
    AqeConf.CostHashBuildNanosPerRow,
    AqeConf.CostHashProbeNanosPerRow,
    AqeConf.CostHashMissNanosPerRow,
    AqeConf.CostCollectNanosPerByte,
    AqeConf.CostBroadcastNanosPerByte,
    AqeConf.CostFilterBuildNanosPerRow,
    AqeConf.CostFilterCheckNanosPerRow,
    AqeConf.CostFilterHashNanosPerColumn,
    AqeConf.CostFilterMissNanosPerRow,
    AqeConf.CostRowPipelineNanosPerRow,
    AqeConf.CostScanNanosPerByte,
    AqeConf.CostFileOpenNanos,
    AqeConf.CostJobLaunchNanos,
    AqeConf.CostLookNanosPerJoin
  )

  private def times(factor: Double, thresholds: Thresholds): Thresholds =
    costs.foldLeft(thresholds)((held, cost) => held.updated(cost, held(cost) * factor))

  private def chosen(decision: JoinDecision): (Option[Method], Boolean, Seq[ReasonCode]) =
    (decision.method, decision.buildFilter, reasons(decision).map(_.code))

  test("every price of a unit of work is among those that are scaled below") {
    assert(
      AqeConf.All.map(_.key).filter(key => key.startsWith("spark.aqePlugin.cost.") && key.contains("Nanos")).toSet == costs.map(_.key).toSet
    )
  }

  test("prices that are all multiplied by one power of two change no choice and no reason") {
    // A power of two changes no digit of a double, so that not even a tie may differ.
    forAll(FactsGen.joinFacts, FactsGen.thresholds, Gen.choose(-60, 60)) { (facts, thresholds, exponent) =>
      val scaled = DecideJoin.decide(facts, times(math.pow(2, exponent.toDouble), thresholds))
      assert(chosen(scaled) == chosen(DecideJoin.decide(facts, thresholds)))
    }
  }

  test("prices that are all multiplied by one factor change no choice but a tie that rounding decides") {
    forAll(FactsGen.joinFacts, FactsGen.thresholds, Gen.choose(-9.0, 9.0)) { (facts, thresholds, exponent) =>
      val before = DecideJoin.decide(facts, thresholds)
      val after = DecideJoin.decide(facts, times(math.pow(10, exponent), thresholds))
      if (chosen(after) != chosen(before)) assert(isAtTieLimit(before, thresholds), before.options)
    }
  }

  /** Whether two options cost the same, or one is cheaper by just the share or the launch from which on it is taken, to within 1e-9. */
  private def isAtTieLimit(decision: JoinDecision, thresholds: Thresholds): Boolean =
    decision.options.flatMap(_.costMillis).combinations(2).map(_.sorted).exists { pair =>
      val (cheaper, dearer) = (pair.head, pair.last)
      val limits = Seq(0.0, thresholds(AqeConf.CostTieRatio) * dearer, thresholds(AqeConf.CostJobLaunchNanos) / CostModel.NanosPerMilli)
      limits.exists(limit => math.abs(dearer - cheaper - limit) <= 1e-9 * dearer)
    }

  test("the terms of an option's price add up to it") {
    forAll(FactsGen.joinFacts, FactsGen.thresholds) { (facts, thresholds) =>
      DecideJoin.decide(facts, thresholds).options.foreach { option =>
        val sum = option.terms.map(_.nanos).sum / CostModel.NanosPerMilli
        option.costMillis.foreach(cost => assert(math.abs(sum - cost) <= 1e-9 * cost))
      }
    }
  }

  test("reasons name only existing conf keys of the plugin or of Spark") {
    val keys = AqeConf.All.map(_.key).toSet ++ Set("", Thresholds.Default.sparkThresholdKey)
    forAllDecisions((_, _, decision) => assert(reasons(decision).forall(reason => keys(reason.confKey))))
  }

  test("every wait decision has finite numbers, and a started probe side never waits") {
    forAll(FactsGen.waitFacts, FactsGen.thresholds) { (facts, thresholds) =>
      val decision = WaitPrice.decide(facts, thresholds)
      val numbers = Seq(decision.savingMillis, decision.idleMillis) ++ decision.reason.measured ++ decision.reason.limit
      assert(numbers.forall(number => !number.isNaN && !number.isInfinity))
      if (facts.join.probe.started) assert(!decision.waits)
      if (decision.waits && !thresholds.openGates) assert(decision.savingMillis * thresholds(AqeConf.WaitSavingShare) > decision.idleMillis)
    }
  }
}
