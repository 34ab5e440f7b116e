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
    otherRunnableTasks = 0
  )

  private def rows(kept: Long, of: Long): WaitFacts =
    typical.copy(join = join.copy(build = join.build.copy(rows = kept, originRows = Some(of).filter(_ >= 0))))

  private def probe(change: ProbeFacts => ProbeFacts): WaitFacts = typical.copy(join = join.copy(probe = change(join.probe)))

  private def decide(facts: WaitFacts, held: Thresholds = thresholds): WaitDecision = WaitPrice.decide(facts, held)

  test("a long scan waits for a selective build side") {
    val decision = decide(typical)
    assert(decision.waits && decision.reason.code == ReasonCode.WaitPays)
    assert(decision.savingMillis > 4000 && decision.idleMillis < 1000)
  }

  test("a large build side that keeps every row gains nothing") {
    val decision = decide(rows(20000000, of = 20000000))
    assert(!decision.waits && decision.savingMillis == 0)
    assert(decision.reason.code == ReasonCode.PassRateTooHigh)
  }

  test("a long scan of a table that a command changes waits for few rows of a table without a predicate") {
    val merged = rows(2000, of = 2000)
    val few = merged.copy(join = merged.join.copy(canBroadcast = false))
    assert(decide(few).reason.code == ReasonCode.PassRateTooHigh)
    assert(decide(few.copy(join = few.join.copy(probe = few.join.probe.copy(changed = true)))).reason.code == ReasonCode.WaitPays)
  }

  test("the probe side does not wait for a build side that is too slow") {
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

  test("between the stages of the build side, slots are idle for a launch, unless other stages can use them") {
    val launch = thresholds(AqeConf.CostJobLaunchNanos) / CostModel.NanosPerMilli
    def wait(stages: Int, others: Int = 0): WaitDecision = decide(typical.copy(buildStages = stages, otherRunnableTasks = others))
    assert(math.abs(wait(3).idleMillis - wait(1).idleMillis - 2 * launch) < 1e-6)
    assert(wait(3, others = 1).idleMillis == wait(1, others = 1).idleMillis)
    assert(math.abs(wait(3).buildMillis - wait(1).buildMillis - 2 * launch) < 1e-6)
  }

  test("of two waits of one scan, the one with more stages costs the time by which they outlast the other") {
    val launch = thresholds(AqeConf.CostJobLaunchNanos) / CostModel.NanosPerMilli
    val other = decide(typical).buildMillis
    val chained = decide(typical.copy(buildStages = 4, heldMillis = other))
    val alone = decide(typical.copy(buildStages = 4))
    assert(math.abs(chained.idleMillis - launch - (alone.idleMillis - launch) * (1 - other / alone.buildMillis)) < 1e-6)
    assert(chained.idleMillis > launch)
  }

  test("a wait that ends before another of the same scans costs only the launch, a longer one the time that it adds") {
    val slow = rows(5600000, of = 28000000).copy(buildScanBytes = 4000000000L)
    val alone = decide(slow)
    val launch = thresholds(AqeConf.CostJobLaunchNanos) / CostModel.NanosPerMilli
    def idleBeside(heldMillis: Double): Double = decide(slow.copy(heldMillis = heldMillis)).idleMillis
    assert(idleBeside(alone.buildMillis) == launch && idleBeside(alone.buildMillis * 2) == launch)
    assert(math.abs(idleBeside(alone.buildMillis / 2) - launch - (alone.idleMillis - launch) / 2) < 1e-6)
  }

  test("what a join below saves more with fewer build rows is worth a wait above it") {
    val all = join.build.copy(rows = 2800000, originRows = Some(2800000))
    val below = join.copy(build = all)
    val short = probe(_.copy(rows = 600000, scanRows = 600000))
    val (alone, chained) = (decide(short), decide(short.copy(reduced = Seq(below))))
    assert(decide(typical.copy(join = below)).savingMillis == 0, "by itself, the join below has nothing to filter with")
    assert(alone.savingMillis > 0 && chained.savingMillis > alone.savingMillis + 1000 && chained.idleMillis == alone.idleMillis)
    val twice = decide(short.copy(reduced = Seq(below, below)))
    assert(math.abs(twice.savingMillis - chained.savingMillis - (chained.savingMillis - alone.savingMillis)) < 1e-6)
    val unknown = below.copy(build = all.copy(rows = -1))
    assert(decide(short.copy(reduced = Seq(unknown))) == alone)
  }

  test("a probe side that waits anyway has no idle time") {
    val below = join.copy(sparkStrategy = Strategy.Broadcast, probe = join.probe.copy(exchanges = 0))
    assert(decide(typical.copy(join = below)).idleMillis == 0)
  }

  test("the probe side does not wait for what the memory budget would refuse") {
    val decision = decide(typical.copy(join = join.copy(memory = Some(MemoryFacts(limitBytes = 1000, heldBytes = 1000)))))
    assert(!decision.waits && decision.reason.code == ReasonCode.MemoryBudget, decision)
  }

  test("the probe side waits for at most wait.maxIdle") {
    val idle = decide(typical).idleMillis
    assert(idle > 1)
    val decision = decide(typical, thresholds.updated(AqeConf.WaitMaxIdle, idle.toLong))
    assert(!decision.waits && decision.reason.code == ReasonCode.WaitTooLong && decision.reason.measured.contains(idle))
    assert(decide(typical, thresholds.updated(AqeConf.WaitMaxIdle, idle.toLong + 1)).waits)
  }

  test("with a saving share of 0, the probe side does not wait") {
    assert(!decide(typical, thresholds.updated(AqeConf.WaitSavingShare, 0.0)).waits)
  }

  test("every row of the build side's table is read, however few are kept") {
    def idle(facts: WaitFacts) = decide(facts).idleMillis
    val unusedShare = 0.5
    val expected = 1000000 * thresholds(AqeConf.CostRowPipelineNanosPerRow) * unusedShare / CostModel.NanosPerMilli
    assert(math.abs(idle(rows(1000, of = 3000000)) - idle(rows(1000, of = 2000000)) - expected) < 1e-6)
  }

  test("there is no wait with unknown row counts or a started probe side") {
    assert(decide(rows(-1, of = -1)).reason.code == ReasonCode.FactsMissing)
    assert(decide(probe(_.copy(scanRows = -1))).reason.code == ReasonCode.FactsMissing)
    assert(decide(probe(_.copy(started = true))).reason.code == ReasonCode.ProbeStarted)
  }

  test("without a gain, the reason is the obstacle to the filter") {
    val decision = decide(typical.copy(join = join.copy(filterObstacle = Some(ReasonCode.ReusedExchange), canBroadcast = false)))
    assert(!decision.waits && decision.reason.code == ReasonCode.ReusedExchange)
  }

  test("with open gates, the probe side waits for every legal filter") {
    val open = thresholds.updated(AqeConf.TestOpenGates, true)
    val poor = rows(20000000, of = 20000000)
    assert(decide(poor, open).waits && decide(poor, open).reason.code == ReasonCode.GatesOpen)
    assert(!decide(poor.copy(join = poor.join.copy(kind = JoinKind.FullOuter)), open).waits)
    assert(decide(rows(-1, of = -1), open).waits)
    assert(decide(rows(Long.MaxValue / 500, of = Long.MaxValue / 100), open).waits, "an estimated size is no limit")
  }
}
