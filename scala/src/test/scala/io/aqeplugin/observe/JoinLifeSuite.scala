package io.aqeplugin.observe

import java.util.concurrent.{Callable, CountDownLatch, Executors}

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide._

class JoinLifeSuite extends AnyFunSuite {
  private val facts = FactsGen.Typical
  private val decision = DecideJoin.decide(facts, Thresholds.Default)
  private val nowNanos = System.nanoTime()
  private val placed = PlacedFilter("f", "join", "table", Seq("k"), applied = true, Reason(ReasonCode.FilterPays))

  private def estimate(side: Side = Side.Right): JoinFacts = facts.copy(buildSide = side)

  test("a join is estimated again only while no side has started") {
    val seen = JoinLife.Unseen.see(estimate(), sideRuns = false)
    assert(seen.forgetEstimate.estimate.isEmpty)
    assert(seen.forgetEstimate.see(estimate(Side.Left), sideRuns = false).estimate.map(_.buildSide).contains(Side.Left))
    assert(seen.keepEstimate.forgetEstimate.estimate.map(_.buildSide).contains(Side.Right))
  }

  test("a join that was left alone for now can still be decided") {
    val alone = JoinLife.Unseen.see(estimate(), sideRuns = true).leaveAlone(JoinLife.LeftAlone("why", decision))
    assert(alone.unreported(filterRan = false).contains(decision))
    assert(alone.decide(decision, nowNanos).leftAlone.isEmpty)
  }

  test("a filter that ran for an undecided join is reported as ready before") {
    val alone = JoinLife.Unseen.leaveAlone(JoinLife.LeftAlone("why", decision.copy(buildFilter = false)))
    assert(alone.unreported(filterRan = true).map(d => d.buildFilter -> d.reason.code).contains(true -> ReasonCode.FilterReady))
  }

  test("filters are kept in all states, and none is added after the end") {
    val ended = JoinLife.Unseen.noteFilter(placed).see(estimate(), sideRuns = true).decide(decision, nowNanos).report.end
    assert(ended.filters.values.toSeq == Seq(placed))
    assert(ended.noteFilter(placed.copy(filterId = "late")) eq ended)
  }

  /** Runs `body` on eight threads at the same time. */
  private def atOnce[A](body: Int => A): Seq[A] = {
    val threads = Executors.newFixedThreadPool(8)
    val start = new CountDownLatch(1)
    val runs = (0 until 8).map(i => threads.submit((() => { start.await(); body(i) }): Callable[A]))
    start.countDown()
    try runs.map(_.get())
    finally threads.shutdown()
  }

  test("concurrent threads get one decision of a join, which is reported once") {
    for (_ <- 1 to 50) {
      val state = new QueryState(1L)
      val decided = atOnce(i => state.decideOnce("join")(decision.copy(passRate = i / 8.0)))
      assert(decided.distinct.size == 1)
      assert(atOnce(_ => state.reportDecided()).flatten == decided.take(1))
      assert(state.endJoins().isEmpty)
    }
  }

  test("concurrent threads that place filters of one join lose none") {
    val state = new QueryState(1L)
    val _ = atOnce(i => (0 until 100).foreach(n => state.noteFilter(placed.copy(filterId = s"$i-$n"))))
    assert(state.filtersOf("join").size == 800)
  }

  test("a thread gets the estimate that another thread has just fixed") {
    val state = new QueryState(1L)
    val known = state.estimateOnce("join", sideRuns = false) {
      val _ = state.estimateOnce("join", sideRuns = true)(estimate(Side.Left))
      estimate(Side.Right)
    }
    assert(known.buildSide == Side.Left)
    state.forgetEstimate("join")
    assert(state.estimate("join").map(_.buildSide).contains(Side.Left))
  }
}
