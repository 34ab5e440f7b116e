package io.aqeplugin.decide

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.conf.{AqeConf, Forced, ForcedOption}
import io.aqeplugin.e2e.Extent

class FlipPointProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration = PropertyCheckConfiguration(minSuccessful = Extent.inputs(1000))

  private def optionOf(decision: JoinDecision): (Strategy, Boolean) = (decision.choice, decision.buildFilter)

  /** A join that several options suit. */
  private val plausible: Gen[JoinFacts] = for {
    buildRows <- Gen.choose(1.0, 8.0).map(math.pow(10, _).toLong)
    share <- Gen.choose(0.001, 1.0)
    rowBytes <- Gen.choose(8L, 400L)
    probeRows <- Gen.choose(4.0, 9.0).map(math.pow(10, _).toLong)
    slots <- Gen.oneOf(2, 16, 400)
  } yield {
    val build = FactsGen.Typical.build.copy(
      rows = buildRows,
      stageBytes = buildRows * rowBytes / 3,
      memoryBytesPerRow = rowBytes,
      originRows = Some((buildRows / share).toLong),
      keys = KeyFacts(columns = 1, supported = true)
    )
    FactsGen.Typical.copy(
      build = build,
      probe = FactsGen.Typical.probe.copy(rows = probeRows, scanRows = probeRows),
      cluster = ClusterFacts(slots, executors = 1 + slots / 8)
    )
  }

  test("a flip point has the decision that it names, and within 3 % of it there is the one made") {
    var found = 0 // counts over many examples
    forAll(Gen.frequency(3 -> plausible, 1 -> FactsGen.joinFacts), Gen.frequency(3 -> Thresholds.Default, 1 -> FactsGen.thresholds)) {
      (facts, thresholds) =>
        val made = DecideJoin.decide(facts, thresholds)
        FlipPoints.of(made, thresholds).foreach { flip =>
          found += 1
          val there = DecideJoin.decide(flip.fact.changed(facts, flip.value), thresholds)
          assert(optionOf(there) == ((flip.choice, flip.withFilter)) && optionOf(there) != optionOf(made), flip)
          val towards = if (flip.value > flip.actual) -1 else 1
          // The size of a filter grows in steps, and with it the share that is a tie, so decisions may alternate around a flip.
          val before = (1 to 30).map(i => flip.value + towards * math.max(i.toLong, (flip.value * 0.001 * i).toLong))
          // The decision was made at the actual value itself.
          if (math.abs(flip.actual - flip.value) > math.abs(before.last - flip.value))
            assert(before.exists(value => optionOf(DecideJoin.decide(flip.fact.changed(facts, value), thresholds)) == optionOf(made)), flip)
        }
    }
    assert(found > 20)
  }

  test("a fact with its own value is the same fact") {
    forAll(FactsGen.joinFacts) { facts =>
      for (fact <- FlipFact.All; actual <- fact.of(facts) if actual < (1L << 50))
        assert(fact.of(fact.changed(facts, actual)).exists(_ >= actual), fact)
    }
  }

  test("the nearest flip point comes first") {
    val points = FlipPoints.of(DecideJoin.decide(FactsGen.Typical, Thresholds.Default), Thresholds.Default)
    val distances = points.map(point => math.abs(math.log(point.value.toDouble / point.actual)))
    assert(points.nonEmpty && distances == distances.sorted)
  }

  test("a forced join has no flip point, not even where the memory no longer allows the forced option") {
    ForcedOption.All.foreach { option =>
      val forced = Thresholds.Default.updated(AqeConf.Force, Forced(Map.empty, Some(option)))
      assert(FlipPoints.of(DecideJoin.decide(FactsGen.Typical, forced), forced).isEmpty, option)
    }
  }
}
