package io.aqeplugin.decide

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class JoinSavingProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val Filtered = JoinOption.FilteredSortMerge

  private def saving(facts: JoinFacts, ran: JoinOption, rows: Option[RowsLeft]): Option[JoinSaving] =
    JoinSaving.of(DecideJoin.decide(facts, Thresholds.Default), applied = true, ran, rows, Thresholds.Default)

  private def elapsed(facts: JoinFacts, ran: JoinOption, rows: Option[RowsLeft]): Double =
    saving(facts, ran, rows).flatMap(_.elapsedMillis).getOrElse(fail("no price"))

  private val sorted = FactsGen.Typical.copy(sparkStrategy = Strategy.PlainSortMerge, canBroadcast = false)
  private val scanned = sorted.probe.scanRows

  test("a join that ran as Spark runs it has no saving, and one whose build side has unknown rows none that is known") {
    assert(saving(sorted, JoinOption.SortMerge, None).isEmpty)
    val unknown = saving(sorted.copy(build = sorted.build.copy(rows = -1)), Filtered, None)
    assert(unknown.exists(found => found.elapsedMillis.isEmpty && found.processorMillis.isEmpty))
  }

  test("a probe side that waited for a build side that became a broadcast was not shuffled, as it is by then without the plugin") {
    val wait = WaitDecision(waits = true, Reason(ReasonCode.FilterPays), 0, 0)
    val small = sorted.copy(sparkStrategy = Strategy.Broadcast, canBroadcast = true, probe = sorted.probe.copy(exchanges = 1, path = Nil))
    val found = saving(small.copy(waiting = Some(wait)), JoinOption.Broadcast, None).getOrElse(fail("none"))
    assert(found.elapsedMillis.exists(_ > 0) && found.shuffleBytes > 0 && found.sparesShuffle)
    assert(saving(small, JoinOption.Broadcast, None).isEmpty)
    assert(saving(small.copy(waiting = Some(wait), build = small.build.copy(alreadyBroadcast = true)), JoinOption.Broadcast, None).isEmpty)
  }

  test("no shuffle is spared where the order of its rows is used, the probe side has started, has none, or was sorted with a filter") {
    val wait = WaitDecision(waits = true, Reason(ReasonCode.FilterPays), 0, 0)
    val waited = sorted.copy(
      sparkStrategy = Strategy.Broadcast,
      canBroadcast = true,
      waiting = Some(wait),
      probe = sorted.probe.copy(exchanges = 1, path = Nil)
    )
    def spares(facts: JoinFacts, ran: JoinOption = JoinOption.FilteredBroadcast): Boolean = saving(facts, ran, None).exists(_.sparesShuffle)
    assert(spares(waited))
    val without = Seq(
      waited.copy(orderUsed = true),
      waited.copy(probe = waited.probe.copy(started = true)),
      waited.copy(probe = waited.probe.copy(exchanges = 0)),
      waited.copy(waiting = Some(wait.copy(waits = false))),
      waited.copy(sparkStrategy = Strategy.PlainSortMerge)
    )
    without.foreach(facts => assert(!spares(facts), facts))
    assert(!spares(waited, Filtered))
  }

  test("a build side that Spark broadcasts only because of filters is priced as the sort that Spark runs without them") {
    val small = sorted.copy(sparkStrategy = Strategy.Broadcast, canBroadcast = true, smallByFilters = true)
    assert(saving(small, JoinOption.Broadcast, None).flatMap(_.elapsedMillis) == saving(
      sorted,
      JoinOption.Broadcast,
      None
    ).flatMap(_.elapsedMillis))
  }

  test("at the expected share of rows a saving is the difference of the decision's own prices") {
    forAll(FactsGen.joinFacts, FactsGen.thresholds) { (facts, thresholds) =>
      val decision = DecideJoin.decide(facts.copy(waiting = None), thresholds)
      def own(one: WeighedOption): Double = one.terms.filterNot(_.name == PathPrice.OtherScans).map(_.nanos).sum / CostModel.NanosPerMilli
      val price = decision.options.filter(_.costMillis.isDefined).map(one => one.option -> own(one)).toMap
      val spark = JoinOption(facts.sparkMethod, withFilter = false)
      for {
        ran <- decision.taken
        found <- JoinSaving.of(decision, applied = true, ran, None, thresholds).flatMap(_.elapsedMillis)
        expected <- price.get(spark).flatMap(before => price.get(ran).map(before - _))
      } assert(math.abs(found - expected) <= 1e-6 * math.max(1, math.max(price(spark), price(ran))))
    }
  }

  test("the fewer rows a filter left, the more it saved, and one that left all has lost its own price") {
    forAll(Gen.choose(0.0, 1.0), Gen.choose(0.0, 1.0)) { (one, other) =>
      val (less, more) = (math.min(one, other), math.max(one, other))
      assert(elapsed(sorted, Filtered, Some(RowsLeft(scanned, less))) >= elapsed(sorted, Filtered, Some(RowsLeft(scanned, more))))
    }
    assert(elapsed(sorted, Filtered, Some(RowsLeft(scanned, 1.0))) < 0)
  }

  test("twice the slots halve the elapsed time of what they share, and leave the work of all cores") {
    val facts = sorted.copy(build = sorted.build.copy(rows = 0, stageBytes = 0, maxPartitionBytes = 0, medianPartitionBytes = 0))
    def at(slots: Int): JoinSaving =
      saving(facts.copy(cluster = facts.cluster.copy(slots = slots)), Filtered, Some(RowsLeft(scanned, 0.0))).getOrElse(fail("none"))
    assert(at(8).processorMillis == at(4).processorMillis)
    assert(at(4).elapsedMillis.zip(at(8).elapsedMillis).exists { case (few, many) => few > 1.5 * many })
  }

  test("rows that a filter removed were not shuffled at the compression of the build side, nor files read that it left out") {
    val facts = sorted.copy(probe = sorted.probe.copy(exchanges = 1, prunableBytes = 1000, path = Nil))
    val found = saving(facts, Filtered, Some(RowsLeft(scanned, 0.25))).getOrElse(fail("none"))
    val compressed = facts.build.stageBytes.toDouble / facts.build.memoryBytes
    assert(math.abs(found.shuffleBytes - 0.75 * compressed * facts.probe.rows * facts.probe.rowBytes) < 1)
    assert(found.unreadBytes == 750)
    val inFiles = facts.copy(probe = facts.probe.copy(prunableBytes = 0, keyless = Some(KeylessFiles(1000, 0.5))))
    assert(saving(inFiles, Filtered, Some(RowsLeft(scanned, 0.25))).map(_.unreadBytes).contains(1000.0))
    assert(saving(inFiles, JoinOption.Broadcast, None).map(_.unreadBytes).contains(0.0))
    val broadcast = saving(facts, JoinOption.Broadcast, None).getOrElse(fail("none"))
    assert(math.abs(broadcast.shuffleBytes - compressed * facts.probe.rows * facts.probe.rowBytes) < 1)
    val unmeasured = facts.copy(build = facts.build.copy(alreadyBroadcast = true))
    assert(saving(unmeasured, JoinOption.FilteredBroadcast, None).forall(_.shuffleBytes == 0))
  }

  test("every saving is finite, and no bytes are negative") {
    val rows = Gen.option(Gen.zip(Gen.choose(1L, Long.MaxValue), Gen.choose(0.0, 1.0)).map { case (rows, share) => RowsLeft(rows, share) })
    forAll(FactsGen.joinFacts, FactsGen.thresholds, rows) { (facts, thresholds, rows) =>
      val decision = DecideJoin.decide(facts, thresholds)
      JoinSaving.of(decision, applied = false, decision.carriedOut(withFilter = true), rows, thresholds).foreach { found =>
        assert((found.elapsedMillis.toSeq ++ found.processorMillis).forall(_.isFinite), found)
        assert(Seq(found.shuffleBytes, found.unreadBytes).forall(bytes => bytes.isFinite && bytes >= 0), found)
      }
    }
  }
}
