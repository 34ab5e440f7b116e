package io.aqeplugin.decide

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.conf.{AqeConf, ConfEntry, Forced, ForcedOption}
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

  private def decided(made: JoinDecision, thresholds: Thresholds, input: FlipInput, value: Double): Option[(Strategy, Boolean)] =
    FlipPoints.decided(made, thresholds, input, value).map(optionOf)

  test("a flip point has the decision that it names, and within 3 % of it there is the one made") {
    var (facts, limits) = (0, 0) // count over many examples
    forAll(Gen.frequency(3 -> plausible, 1 -> FactsGen.joinFacts), Gen.frequency(1 -> Thresholds.Default, 1 -> FactsGen.thresholds)) {
      (join, thresholds) =>
        val made = DecideJoin.decide(join, thresholds)
        FlipPoints.of(made, thresholds).foreach { flip =>
          if (flip.input.isInstanceOf[FlipFact]) facts += 1 else limits += 1
          val there = decided(made, thresholds, flip.input, flip.value)
          assert(there.contains((flip.choice, flip.withFilter)) && !there.contains(optionOf(made)), flip)
          val towards = if (flip.value > flip.actual) -1 else 1
          // The size of a filter grows in steps, and with it the share that is a tie, so decisions may alternate around a flip.
          val before = (1 to 30).map { i =>
            if (flip.input.isWhole) flip.value + towards * math.max(i.toDouble, math.floor(flip.value * 0.001 * i))
            else flip.value * (1 + towards * 0.001 * i)
          }
          // The decision was made at the actual value itself.
          if (math.abs(flip.actual - flip.value) > math.abs(before.last - flip.value))
            assert(before.exists(decided(made, thresholds, flip.input, _).contains(optionOf(made))), flip)
        }
    }
    assert(facts > 20 && limits > 20)
  }

  /** The flip point of a limit, whose value changes the decision, and which does not change it 2 % or one unit before. */
  private def flipOf(facts: JoinFacts, thresholds: Thresholds, entry: ConfEntry[_]): Option[FlipPoint] = {
    val made = DecideJoin.decide(facts, thresholds)
    val found = FlipPoints.of(made, thresholds).find(_.input.name == entry.key)
    found.foreach { flip =>
      val before = flip.value / (if (flip.value > flip.actual) 1.02 else 1 / 1.02)
      assert(decided(made, thresholds, flip.input, flip.value).contains((flip.choice, flip.withFilter)), flip)
      assert(decided(made, thresholds, flip.input, before).contains(optionOf(made)), flip)
    }
    found
  }

  /** A dimension whose rows are this share of its table. */
  private def dimension(share: Double, rows: Long = 50000): JoinFacts = FactsGen.Typical.copy(build =
    FactsGen.Typical.build.copy(rows = rows, originRows = Some((rows / share).toLong), keys = KeyFacts(columns = 1, supported = true))
  )

  test("a pass rate above filter.maxPassRate flips at the pass rate, if the filter pays") {
    val thresholds = Thresholds.Default.updated(AqeConf.FilterMaxPassRate, 0.1)
    val facts = dimension(share = 0.4)
    assert(DecideJoin.decide(facts, thresholds).filterReason.code == ReasonCode.PassRateTooHigh)
    val flip = flipOf(facts, thresholds, AqeConf.FilterMaxPassRate).getOrElse(fail("no flip"))
    assert(flip.withFilter && flip.actual == 0.1 && flip.value >= 0.4 && flip.value < 0.42, flip)
    assert(flipOf(dimension(share = 0.999), thresholds, AqeConf.FilterMaxPassRate).isEmpty, "a filter that removes nothing never pays")
  }

  test("too few probe rows flip filter.minProbeRows at their number") {
    val thresholds = Thresholds.Default.updated(AqeConf.FilterMinProbeRows, 100000000L)
    val flip = flipOf(dimension(share = 0.02), thresholds, AqeConf.FilterMinProbeRows).getOrElse(fail("no flip"))
    assert(flip.withFilter && flip.value <= 28000000 && flip.value > 27700000, flip)
  }

  test("a build side that is too large for a broadcast flips the limit of rows or of memory, and none if it is above both") {
    val facts = dimension(share = 0.02)
    def flips(maxRows: Long, maxBytes: Long): Seq[FlipPoint] = {
      val thresholds = Thresholds.Default
        .updated(AqeConf.BroadcastMaxRows, maxRows).updated(AqeConf.BroadcastMaxMemoryBytes, maxBytes)
        .updated(AqeConf.ShuffledHashMaxShare, 0.0).updated(AqeConf.FilterMaxPassRate, 0.0)
      Seq(AqeConf.BroadcastMaxRows, AqeConf.BroadcastMaxMemoryBytes).flatMap(flipOf(facts, thresholds, _))
    }
    assert(flips(10000, 1L << 30).map(flip => (flip.input.name, flip.choice)) == Seq((AqeConf.BroadcastMaxRows.key, Strategy.Broadcast)))
    val memory = flips(1000000, 1L << 20)
    assert(memory.map(_.input.name) == Seq(AqeConf.BroadcastMaxMemoryBytes.key) && memory.forall(_.value >= 50000 * 88), memory)
    assert(flips(10000, 1L << 20).isEmpty)
    assert(flips(1000000, 1L << 30).isEmpty, "nothing refused it")
  }

  test("where Spark allows less memory for a broadcast, the plugin's limit flips nothing") {
    val limited = Thresholds.Default.withBroadcastAtMost(1L << 20, "spark.driver.maxResultSize")
    assert(flipOf(dimension(share = 0.02), limited, AqeConf.BroadcastMaxMemoryBytes).isEmpty)
  }

  test("a build side that is too large for a task flips the share of its memory that it may take") {
    val thresholds = Thresholds.Default.updated(AqeConf.BroadcastMaxRows, 0L).updated(AqeConf.FilterMaxPassRate, 0.0)
      .updated(AqeConf.ShuffledHashMaxShare, 0.01)
    val flip = flipOf(dimension(share = 0.02), thresholds, AqeConf.ShuffledHashMaxShare).getOrElse(fail("no flip"))
    val needed = 50000.0 * 88 / (64 << 20)
    assert(flip.choice == Strategy.ShuffledHash && flip.value >= needed && flip.value < needed * 1.02, flip)
  }

  test("a limit flips between its last step and the greatest value that it may have") {
    val facts = dimension(share = 0.01, rows = 300000000)
    val large = facts.copy(probe = facts.probe.copy(rows = 100000000000L, scanRows = 100000000000L))
    val thresholds = Thresholds.Default.updated(AqeConf.FilterMaxBytes, 300L << 20)
    assert(DecideJoin.decide(large, thresholds).filterReason.code == ReasonCode.FilterTooBig)
    val flip = flipOf(large, thresholds, AqeConf.FilterMaxBytes).getOrElse(fail("no flip"))
    assert(flip.withFilter && flip.value > (300L << 20) && flip.value <= (1L << 30), flip)
  }

  test("a fact with its own value is the same fact") {
    forAll(FactsGen.joinFacts) { facts =>
      for (fact <- FlipFact.All; actual <- fact.of(facts) if actual < (1L << 50))
        assert(fact.of(fact.changed(facts, actual)).exists(_ >= actual), fact)
    }
  }

  test("the nearest flip point comes first") {
    val points = FlipPoints.of(DecideJoin.decide(FactsGen.Typical, Thresholds.Default), Thresholds.Default)
    val distances = points.map(point => math.abs(math.log(point.value / point.actual)))
    assert(points.nonEmpty && distances == distances.sorted)
  }

  test("a forced join has no flip point, not even where the memory no longer allows the forced option") {
    ForcedOption.All.foreach { option =>
      val forced = Thresholds.Default.updated(AqeConf.Force, Forced(Map.empty, Some(option)))
      assert(FlipPoints.of(DecideJoin.decide(FactsGen.Typical, forced), forced).isEmpty, option)
    }
  }
}
