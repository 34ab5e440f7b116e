package io.aqeplugin.decide

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.AqeConf

class WaitPriceSuite extends AnyFunSuite {

  private val thresholds = Thresholds.Default

  /** A dimension of 2.8 million rows, of which a fifth is kept, in front of a scan of 28 million rows. */
  private val join = FactsGen.Typical.copy(
    build = FactsGen.Typical.build.copy(rows = 560000, originRows = Some(2800000), keys = KeyFacts(columns = 1, supported = true))
  )
  private val typical = WaitFacts(
    join,
    buildScanBytes = 60000000,
    buildTasks = 1,
    shufflePartitions = 200,
    otherRunnableTasks = 0,
    waitsAnyway = false
  )

  private def rows(kept: Long, of: Long): WaitFacts =
    typical.copy(join = join.copy(build = join.build.copy(rows = kept, originRows = Some(of).filter(_ >= 0))))

  private def probe(change: ProbeFacts => ProbeFacts): WaitFacts = typical.copy(join = join.copy(probe = change(join.probe)))

  private def decide(facts: WaitFacts, held: Thresholds = thresholds): WaitDecision = WaitPrice.decide(facts, held)

  test("a selective build side in front of a long scan is worth waiting for") {
    val decision = decide(typical)
    assert(decision.waits && decision.reason.code == ReasonCode.WaitPays)
    assert(decision.savingMillis > 4000 && decision.idleMillis < 1000)
  }

  test("a build side that keeps every row and fits no broadcast promises nothing") {
    val decision = decide(rows(20000000, of = 20000000))
    assert(!decision.waits && decision.savingMillis == 0)
    assert(decision.reason.code == ReasonCode.PassRateTooHigh)
  }

  test("a build side as slow as what it could save is not waited for") {
    val slow = rows(5600000, of = 28000000)
    val short = slow.join.copy(probe = join.probe.copy(rows = 4000000, scanRows = 4000000))
    val decision = decide(slow.copy(join = short, buildScanBytes = 4000000000L))
    assert(!decision.waits && decision.reason.code == ReasonCode.NotWorthWaiting)
    assert(decision.reason.measured.exists(_ < decision.idleMillis) && decision.reason.limit.contains(decision.idleMillis))
  }

  test("slots that other stages can use are not idle") {
    val slow = rows(5600000, of = 28000000).copy(buildScanBytes = 4000000000L)
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

  test("every row of the build side's table is read, however few are kept") {
    def idle(facts: WaitFacts) = decide(facts).idleMillis
    val unusedShare = 0.5
    val expected = 1000000 * thresholds(AqeConf.CostRowPipelineNanosPerRow) * unusedShare / CostModel.NanosPerMilli
    assert(math.abs(idle(rows(1000, of = 3000000)) - idle(rows(1000, of = 2000000)) - expected) < 1e-6)
  }

  test("nothing is held back for unknown row counts, nor when the probe side runs") {
    assert(decide(rows(-1, of = -1)).reason.code == ReasonCode.FactsMissing)
    assert(decide(probe(_.copy(scanRows = -1))).reason.code == ReasonCode.FactsMissing)
    assert(decide(probe(_.copy(started = true))).reason.code == ReasonCode.ProbeStarted)
  }

  test("what stands against the filter is said when there is nothing to gain") {
    val decision = decide(typical.copy(join = join.copy(filterObstacle = Some(ReasonCode.ReusedExchange), canBroadcast = false)))
    assert(!decision.waits && decision.reason.code == ReasonCode.ReusedExchange)
  }

  test("with open gates every legal filter is waited for, an illegal one is not") {
    val open = thresholds.updated(AqeConf.TestOpenGates, true)
    val poor = rows(20000000, of = 20000000)
    assert(decide(poor, open).waits && decide(poor, open).reason.code == ReasonCode.GatesOpen)
    assert(!decide(poor.copy(join = poor.join.copy(kind = JoinKind.FullOuter)), open).waits)
    assert(decide(rows(-1, of = -1), open).waits)
    assert(decide(rows(Long.MaxValue / 500, of = Long.MaxValue / 100), open).waits, "an estimated size is no limit")
  }
}
