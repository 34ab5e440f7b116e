package io.aqeplugin.decide

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.AqeConf

class WaitPriceSuite extends AnyFunSuite {

  private val thresholds = Thresholds.Default

  /** A dimension of 2.8 million rows with one predicate, in front of a scan of 28 million rows. */
  private val typical = WaitFacts(
    kind = JoinKind.Inner,
    buildSide = Side.Right,
    keyColumns = 1,
    keysSupported = true,
    buildRows = 2800000,
    buildScanBytes = 60000000,
    buildRowBytes = 40,
    buildTasks = 1,
    buildKeptRatio = None,
    buildPredicates = 1,
    shufflePartitions = 200,
    otherRunnableTasks = 0,
    waitsAnyway = false,
    probe = FactsGen.Typical.probe,
    cluster = ClusterFacts(slots = 2, executors = 1),
    hint = None,
    sparkStrategy = Strategy.PlainSortMerge,
    canBroadcast = true,
    filterObstacle = None
  )

  private def decide(facts: WaitFacts, held: Thresholds = thresholds): WaitDecision = WaitPrice.decide(facts, held)

  test("a selective build side in front of a long scan is worth waiting for") {
    val decision = decide(typical)
    assert(decision.waits && decision.reason.code == ReasonCode.WaitPays)
    assert(decision.savingMillis > 4000 && decision.idleMillis < 1000)
  }

  test("a build side that keeps every row and fits no broadcast promises nothing") {
    val decision = decide(typical.copy(buildPredicates = 0, buildRows = 20000000))
    assert(!decision.waits && decision.savingMillis == 0)
    assert(decision.reason.code == ReasonCode.PassRateTooHigh)
  }

  test("a build side as slow as what it could save is not waited for") {
    val slow =
      typical.copy(buildRows = 28000000, buildScanBytes = 4000000000L, probe = typical.probe.copy(rows = 4000000, scanRows = 4000000))
    val decision = decide(slow)
    assert(!decision.waits && decision.reason.code == ReasonCode.NotWorthWaiting)
    assert(decision.reason.measured.exists(_ < decision.idleMillis) && decision.reason.limit.contains(decision.idleMillis))
  }

  test("slots that other stages can use are not idle") {
    val slow = typical.copy(buildRows = 28000000, buildScanBytes = 4000000000L)
    assert(decide(slow.copy(otherRunnableTasks = 10)).idleMillis < decide(slow).idleMillis)
  }

  test("what waits anyway pays nothing for it") {
    assert(decide(typical.copy(waitsAnyway = true)).idleMillis == 0)
  }

  test("waiting for longer than wait.maxIdle is not begun; exactly as long is") {
    val idle = decide(typical).idleMillis
    assert(idle > 1)
    val decision = decide(typical, thresholds.updated(AqeConf.WaitMaxIdle, idle.toLong))
    assert(!decision.waits && decision.reason.code == ReasonCode.WaitTooLong && decision.reason.measured.contains(idle))
    assert(decide(typical, thresholds.updated(AqeConf.WaitMaxIdle, idle.toLong + 1)).waits)
  }

  test("a saving that is not believed is not waited for") {
    assert(!decide(typical, thresholds.updated(AqeConf.WaitSavingShare, 0.0)).waits)
  }

  test("statistics come before the guess from predicates") {
    val guessed = WaitPrice.expectedFacts(typical, thresholds)
    assert(guessed.build.rows == 560000)
    val known = WaitPrice.expectedFacts(typical.copy(buildKeptRatio = Some(0.5)), thresholds)
    assert(known.build.rows == 1400000)
  }

  test("nothing is held back for unknown row counts, nor when the probe side runs") {
    assert(decide(typical.copy(buildRows = -1)).reason.code == ReasonCode.FactsMissing)
    assert(decide(typical.copy(probe = typical.probe.copy(scanRows = -1))).reason.code == ReasonCode.FactsMissing)
    assert(decide(typical.copy(probe = typical.probe.copy(started = true))).reason.code == ReasonCode.ProbeStarted)
  }

  test("what stands against the filter is said when there is nothing to gain") {
    val decision = decide(typical.copy(filterObstacle = Some(ReasonCode.ReusedExchange), canBroadcast = false))
    assert(!decision.waits && decision.reason.code == ReasonCode.ReusedExchange)
  }

  test("with open gates every legal filter is waited for, an illegal one is not") {
    val open = thresholds.updated(AqeConf.TestOpenGates, true)
    val poor = typical.copy(buildPredicates = 0, buildRows = 20000000)
    assert(decide(poor, open).waits && decide(poor, open).reason.code == ReasonCode.GatesOpen)
    assert(!decide(poor.copy(kind = JoinKind.FullOuter), open).waits)
    assert(decide(typical.copy(buildRows = -1), open).waits)
    assert(decide(typical.copy(buildRows = Long.MaxValue / 100), open).waits, "an estimated size is no limit")
  }
}
