package io.aqeplugin.observe

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide._

/** What becomes of a wait when its join is estimated again. */
class JoinWaitSuite extends AnyFunSuite {
  private val waits = WaitDecision(waits = true, Reason(ReasonCode.WaitPays), savingMillis = 100, idleMillis = 10, buildMillis = 50)
  private val starts = waits.copy(waits = false, reason = Reason(ReasonCode.NotWorthWaiting))
  private val begun = JoinWait(startNanos = 0L, JoinWait.Stage(isOwn = true, buildMillis = 50, sinceNanos = 0L), checkNanos = Some(1L))

  private def estimate(waiting: WaitDecision): JoinFacts = FactsGen.Typical.copy(waiting = Some(waiting))

  test("a wait that a later estimate no longer makes has its length and what ended it") {
    val dropped = begun.drop(nowNanos = 7000000L)
    assert(dropped.inEstimate(estimate(starts)).waiting.contains(starts.copy(outcome = Some(WaitOutcome(WaitEnd.Released, 7.0)))))
    assert(dropped.drop(nowNanos = 9000000L) == dropped, "it ends once")
  }

  test("an estimate that waits again goes on with the wait") {
    val dropped = begun.drop(nowNanos = 7000000L)
    assert(dropped.inEstimate(estimate(waits)) == estimate(waits))
    assert(dropped.resume == begun)
  }

  test("the clock's release is final, whatever is estimated later") {
    val over = begun.release(waits, Reason(ReasonCode.WaitReleased), nowNanos = 7000000L)
    val released =
      waits.copy(waits = false, reason = Reason(ReasonCode.WaitReleased), outcome = Some(WaitOutcome(WaitEnd.Released, 7.0)))
    assert(over.isOver && Seq(waits, starts).map(estimate).forall(over.inEstimate(_).waiting.contains(released)))
    assert(over.drop(nowNanos = 9000000L) == over && over.resume == over)
  }

  test("a wait is used by a filter or by a join strategy that needs it, and a shuffled hash join needs none") {
    def endOf(method: Method, withFilter: Boolean): Option[WaitEnd] = {
      val decision = DecideJoin.decide(estimate(waits), Thresholds.Default).copy(method = Some(method), buildFilter = withFilter)
      begun.inDecision(decision, nowNanos = 7000000L).facts.waiting.flatMap(_.outcome).map(_.end)
    }
    val ends = for (method <- Method.All; withFilter <- Seq(false, true)) yield (method, withFilter) -> endOf(method, withFilter)
    assert(FactsGen.Typical.sparkMethod == Method.SortMerge)
    val used = Set[(Method, Boolean)](
      Method.Broadcast -> false,
      Method.Broadcast -> true,
      Method.ShuffledHash -> true,
      Method.SortMerge -> true
    )
    ends.foreach { case (option, end) => assert(end.contains(if (used(option)) WaitEnd.Used else WaitEnd.Unused), option) }
  }
}
