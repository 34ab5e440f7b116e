package io.aqeplugin.observe

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide._

/** What becomes of a wait when its join is estimated again. */
class JoinWaitSuite extends AnyFunSuite {
  private val waits = WaitDecision(waits = true, Reason(ReasonCode.WaitPays), savingMillis = 100, idleMillis = 10, buildMillis = 50)
  private val starts = waits.copy(waits = false, reason = Reason(ReasonCode.NotWorthWaiting))
  private val own = JoinWait.Stage(isOwn = true, left = 1, runs = true, sinceNanos = 0L)
  private val begun = JoinWait(startNanos = 0L, own, checkNanos = Some(nanos(50)))
  private val limits = Thresholds.Default.updated(AqeConf.WaitCheckAfter, 20L).updated(AqeConf.WaitLimit, 1000L)

  /** How much later a check sets the next. */
  private val Checked = 1L

  private def nanos(millis: Long): Long = JoinWait.nanos(millis.toDouble)

  private def goOn(wait: JoinWait, stage: JoinWait.Stage, nowMillis: Long): JoinWait =
    wait.goOn(stage.copy(sinceNanos = nanos(nowMillis)), limits)(_.copy(checkNanos = Some(nanos(nowMillis) + Checked)))

  private def estimate(waiting: WaitDecision): JoinFacts = FactsGen.Typical.copy(waiting = Some(waiting))

  test("a wait that a later estimate no longer makes has its length and what ended it") {
    val dropped = begun.drop(nowNanos = 7000000L)
    assert(dropped.inEstimate(estimate(starts)).waiting.contains(starts.copy(outcome = Some(WaitOutcome(WaitEnd.Released, 7.0)))))
    assert(dropped.drop(nowNanos = 9000000L) == dropped, "it ends once")
  }

  test("a wait whose filter found no place has its length in the decision, though the estimate waits") {
    val decided = begun.drop(nowNanos = 7000000L).inDecision(DecideJoin.decide(estimate(waits), limits), nowNanos = 9000000L)
    assert(decided.facts.waiting.flatMap(_.outcome).contains(WaitOutcome(WaitEnd.Released, 7.0)))
  }

  test("an estimate that waits again goes on with the wait") {
    val dropped = begun.drop(nowNanos = 7000000L)
    assert(dropped.inEstimate(estimate(waits)) == estimate(waits))
    assert(goOn(dropped, own, nowMillis = 8) == begun)
  }

  test("a wait that goes on after its check was due is checked at once: a clock that has ended makes no other plan") {
    val dropped = begun.drop(nowNanos = nanos(7))
    assert(goOn(dropped, own, nowMillis = 100).checkNanos.contains(nanos(100) + Checked))
    assert(goOn(begun, own, nowMillis = 100) == goOn(dropped, own, nowMillis = 100))
  }

  test("a new stage of the build side puts off the check, up to the limit of the wait") {
    val next = own.copy(left = 2)
    assert(goOn(begun, next, nowMillis = 100).checkNanos.contains(nanos(120)))
    assert(goOn(begun, next, nowMillis = 990).checkNanos.contains(nanos(1000)))
    assert(goOn(begun, next, nowMillis = 1000).checkNanos.contains(nanos(1000) + Checked), "at the limit it is checked")
  }

  test("idle slots that were seen while another stage was waited for do not count") {
    val idle = begun.until(NextCheck(60, isIdle = true))
    assert(idle.checkNanos.contains(nanos(60)) && goOn(idle, own, nowMillis = 40).isIdle)
    assert(!goOn(idle, own.copy(left = 2), nowMillis = 40).isIdle && !goOn(idle, own.copy(runs = false), nowMillis = 40).isIdle)
  }

  test("a second look at idle slots is not made before its time") {
    val idle = begun.until(NextCheck(60, isIdle = true))
    assert(goOn(idle, own, nowMillis = 59) == idle)
    assert(goOn(idle, own, nowMillis = 60).checkNanos.contains(nanos(60) + Checked))
  }

  test("every wait that goes on has its next check in the future, and none goes on at its limit") {
    for (
      nowMillis <- 8L to 1100L by 4; wait <- Seq(begun, begun.drop(nanos(7)));
      stage <- Seq(own, own.copy(left = 2), own.copy(isOwn = false))
    ) {
      val after = wait.goOn(stage.copy(sinceNanos = nanos(nowMillis)), limits) { due =>
        val (waited, ofStage) = (due.waitedMillis(nanos(nowMillis)), due.stageMillis(nanos(nowMillis)))
        WaitClock.check(waits, WaitProgress(waited, ofStage, 0, 0, slots = 2, idleShare = 0, due.isIdle), limits) match {
          case Left(reason) => due.release(waits, reason, nanos(nowMillis))
          case Right(next)  => due.until(next)
        }
      }
      assert(after.ended.isEmpty == (nowMillis < 1000) && after.isOver == after.ended.isDefined, s"at $nowMillis ms")
      assert(after.isOver || after.checkNanos.exists(_ > nanos(nowMillis)), s"at $nowMillis ms")
    }
  }

  test("the clock's release is final, whatever is estimated later") {
    val over = begun.release(waits, Reason(ReasonCode.WaitReleased), nowNanos = 7000000L)
    val released =
      waits.copy(waits = false, reason = Reason(ReasonCode.WaitReleased), outcome = Some(WaitOutcome(WaitEnd.Released, 7.0)))
    assert(over.isOver && Seq(waits, starts).map(estimate).forall(over.inEstimate(_).waiting.contains(released)))
    assert(over.drop(nowNanos = 9000000L) == over && goOn(over, own, nowMillis = 100) == over)
  }

  test("a wait is used by a filter or by a join strategy that needs it, and a shuffled hash join needs none") {
    def endOf(method: Method, withFilter: Boolean): Option[WaitEnd] = {
      val decision = DecideJoin.decide(
        estimate(waits),
        Thresholds.Default
      ).copy(choice = JoinOption(method, withFilter).strategy, buildFilter = withFilter)
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

  test("a wait for what Spark broadcasts later spared the shuffle of the probe side, unless it was a broadcast's stage") {
    def endOf(alreadyBroadcast: Boolean): Option[WaitEnd] = {
      val typical = estimate(waits)
      val facts = typical.copy(sparkStrategy = Strategy.Broadcast, build = typical.build.copy(alreadyBroadcast = alreadyBroadcast))
      val decision = DecideJoin.decide(facts, Thresholds.Default).copy(choice = Strategy.Broadcast, buildFilter = false)
      begun.inDecision(decision, nowNanos = 7000000L).facts.waiting.flatMap(_.outcome).map(_.end)
    }
    assert(endOf(alreadyBroadcast = false).contains(WaitEnd.Used))
    assert(endOf(alreadyBroadcast = true).contains(WaitEnd.Unused))
  }
}
