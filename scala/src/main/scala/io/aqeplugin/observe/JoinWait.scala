package io.aqeplugin.observe

import java.util.concurrent.TimeUnit

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide._

/** A wait that has begun.
  *
  * @param startNanos
  *   when it began, as `System.nanoTime`
  * @param stage
  *   the stage that the build side waited for when last seen
  * @param checkNanos
  *   when it is to be checked next; none if nothing but the end of the build side ends it
  * @param ended
  *   what ended it before its build side had finished
  * @param isIdle
  *   whether the last check of the stage found that idle slots cost too much
  */
final case class JoinWait(
    startNanos: Long,
    stage: JoinWait.Stage,
    checkNanos: Option[Long],
    ended: Option[JoinWait.Ended] = None,
    isIdle: Boolean = false
) {
  import JoinWait._

  /** Whether it has ended for good. */
  def isOver: Boolean = ended.exists { case _: Released => true; case _: Dropped => false }

  def waitedMillis(nowNanos: Long): Double = millis(startNanos, nowNanos)
  def stageMillis(nowNanos: Long): Double = millis(stage.sinceNanos, nowNanos)

  /** The estimate with what became of the wait. */
  def inEstimate(estimate: JoinFacts): JoinFacts = ended match {
    case Some(Released(decision)) => estimate.copy(waiting = Some(decision))
    case Some(Dropped(outcome))   =>
      estimate.copy(waiting = estimate.waiting.map(wait => if (wait.waits) wait else wait.copy(outcome = Some(outcome))))
    case None => estimate
  }

  /** The decision with the length of the wait and what it was good for. */
  def inDecision(decision: JoinDecision, nowNanos: Long): JoinDecision =
    if (isOver) decision
    else {
      val outcome = ended match {
        case Some(Dropped(before)) => before
        case _                     => WaitOutcome(if (needsWait(decision)) WaitEnd.Used else WaitEnd.Unused, waitedMillis(nowNanos))
      }
      val waiting = decision.facts.waiting.map(wait => if (wait.waits) wait.copy(outcome = Some(outcome)) else wait)
      decision.copy(facts = decision.facts.copy(waiting = waiting))
    }

  /** The wait after an estimate that does not wait, or whose filter has no place. */
  def drop(nowNanos: Long): JoinWait = if (ended.isDefined) this else copy(ended = Some(Dropped(released(nowNanos))))

  /** The wait after an estimate that waits, also if the one before did not. If it is to be checked again, that is after this planning:
    * AQE has seen the end of an earlier clock already and would not plan again for it.
    *
    * @param current
    *   the stage that the build side waits for now
    * @param check
    *   releases the wait or sets a later check; called when one is due
    */
  def goOn(current: Stage, thresholds: Thresholds)(check: JoinWait => JoinWait): JoinWait = {
    val nowNanos = current.sinceNanos
    val checkAfterNanos = nanos(thresholds(AqeConf.WaitCheckAfter).toDouble)
    val limitNanos = startNanos + nanos(thresholds(AqeConf.WaitLimit).toDouble)
    // Each check makes AQE plan again, so checks that are due soon are made together; a second look at the slots is worth a plan of its own.
    val isDue = checkNanos.exists(_ <= nowNanos + (if (isIdle) 0L else checkAfterNanos / 2))
    val waiting = if (ended.isEmpty) this else copy(ended = None)
    if (isOver) this
    else if (checkNanos.isDefined && !stage.isSame(current) && nowNanos < limitNanos) {
      // Between two stages of a build side, the slots are idle because the next has not been submitted.
      val soonestNanos = math.min(nowNanos + checkAfterNanos, limitNanos)
      waiting.copy(stage = current, checkNanos = checkNanos.map(math.max(_, soonestNanos)), isIdle = false)
    } else if (isDue) check(waiting)
    else waiting
  }

  /** The wait that goes on to its next check. */
  def until(next: NextCheck): JoinWait = copy(checkNanos = Some(startNanos + nanos(next.afterMillis)), isIdle = next.isIdle)

  /** Ends the wait before its build side has finished. */
  def release(wait: WaitDecision, reason: Reason, nowNanos: Long): JoinWait =
    copy(ended = Some(Released(wait.copy(waits = false, reason = reason, outcome = Some(released(nowNanos))))))

  /** A shuffled hash join without a filter would have been chosen without a wait, and Spark's broadcast only after the probe side was shuffled. */
  private def needsWait(decision: JoinDecision): Boolean = {
    val method = decision.method.getOrElse(decision.facts.sparkMethod)
    decision.buildFilter || method == Method.Broadcast && decision.facts.sparesShuffle ||
    method != decision.facts.sparkMethod && method != Method.ShuffledHash
  }

  private def released(nowNanos: Long): WaitOutcome = WaitOutcome(WaitEnd.Released, waitedMillis(nowNanos))
}

object JoinWait {

  /** What ends a wait before its build side has finished. */
  sealed trait Ended

  /** The clock ended it, whatever is estimated later. */
  final case class Released(decision: WaitDecision) extends Ended

  /** A later estimate no longer waits, or its filter has no place; the next one may wait again. */
  final case class Dropped(outcome: WaitOutcome) extends Ended

  /** What a build side waits for: a stage of its own, or before there is one, the stages below.
    *
    * @param isOwn
    *   whether the build side's own stage exists
    * @param left
    *   how many of the build side's stages are left to run one after the other
    * @param runs
    *   whether one of them has been submitted
    * @param sinceNanos
    *   when this was first seen, as `System.nanoTime`
    */
  final case class Stage(isOwn: Boolean, left: Int, runs: Boolean, sinceNanos: Long) {
    def isSame(other: Stage): Boolean = copy(sinceNanos = other.sinceNanos) == other
  }

  def nanos(millis: Double): Long = (millis * TimeUnit.MILLISECONDS.toNanos(1)).toLong

  private def millis(fromNanos: Long, toNanos: Long): Double = (toNanos - fromNanos) / 1e6
}
