package io.aqeplugin.observe

import java.util.concurrent.{Callable, CountDownLatch, Executors}

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide._

class JoinLifeSuite extends AnyFunSuite {
  private val facts = FactsGen.Typical
  private val decision = DecideJoin.decide(facts, Thresholds.Default)
  private val placed = PlacedFilter("f", "join", "table", Seq("k"), applied = true, Reason(ReasonCode.FilterPays))

  private def estimate(side: Side = Side.Right): JoinEstimate =
    JoinEstimate("join", facts.kind, facts.keys, side, facts.build, facts.probe, facts.cluster, None, true, None, None)

  test("a join of which no side runs is estimated anew, one that runs is not") {
    val seen = JoinLife.Unseen.see(estimate(), runs = false)
    assert(seen.forget.estimate.isEmpty)
    assert(seen.forget.see(estimate(Side.Left), runs = false).estimate.map(_.buildSide).contains(Side.Left))
    assert(seen.start.forget.estimate.map(_.buildSide).contains(Side.Right))
  }

  test("a join that was left alone for now is decided all the same") {
    val refused = JoinLife.Unseen.see(estimate(), runs = true).refuse(JoinLife.Refusal("why", decision))
    assert(refused.unwritten(filterRan = false).contains(decision))
    assert(refused.decide(decision).refusal.isEmpty)
  }

  test("a filter of an undecided join that ran is written down as one that was ready") {
    val refused = JoinLife.Unseen.refuse(JoinLife.Refusal("why", decision.copy(buildFilter = false)))
    assert(refused.unwritten(filterRan = true).map(d => d.buildFilter -> d.reason.code).contains(true -> ReasonCode.FilterReady))
  }

  test("filters are remembered through all states, and none comes after the end") {
    val ended = JoinLife.Unseen.place(placed).see(estimate(), runs = true).decide(decision).write.end
    assert(ended.filters.values.toSeq == Seq(placed))
    assert(ended.place(placed.copy(filterId = "late")) eq ended)
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

  test("threads that decide one join at the same time all get one decision, and one of them writes it down") {
    for (_ <- 1 to 50) {
      val state = new QueryState(1L)
      val decided = atOnce(i => state.decideOnce("join")(decision.copy(passRate = i / 8.0)))
      assert(decided.distinct.size == 1)
      assert(atOnce(_ => state.unwritten()).flatten == decided.take(1))
      assert(state.endJoins().isEmpty)
    }
  }

  test("threads that place filters of one join at the same time lose none") {
    val state = new QueryState(1L)
    val _ = atOnce(i => (0 until 100).foreach(n => state.place(placed.copy(filterId = s"$i-$n"))))
    assert(state.filtersOf("join").size == 800)
  }

  test("an estimate that a thread asks for while another settles the join is the one that was settled") {
    val state = new QueryState(1L)
    val known = state.estimateOnce("join", runs = false) {
      val _ = state.estimateOnce("join", runs = true)(estimate(Side.Left))
      estimate(Side.Right)
    }
    assert(known.buildSide == Side.Left)
    state.forget("join")
    assert(state.estimate("join").map(_.buildSide).contains(Side.Left))
  }
}
