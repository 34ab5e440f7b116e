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
}
