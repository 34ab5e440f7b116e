package io.aqeplugin.observe

import io.aqeplugin.decide._

/** A wait that has begun.
  *
  * @param startNanos
  *   when it began, as `System.nanoTime`
  * @param stage
  *   the stage that the build side waited for when last seen
  * @param checkNanos
  *   when it is to be checked next; none if nothing but the end of the build side ends it
  * @param released
  *   what became of it if the clock ended it before its build side had finished
  * @param dropped
  *   what became of it if a later estimate no longer waits; the next one may wait again
  */
final case class JoinWait(
    startNanos: Long,
    stage: JoinWait.Stage,
    checkNanos: Option[Long],
    released: Option[WaitDecision] = None,
    dropped: Option[WaitOutcome] = None
) {

  def isOver: Boolean = released.isDefined

  def waitedMillis(nowNanos: Long): Double = JoinWait.millis(startNanos, nowNanos)
  def stageMillis(nowNanos: Long): Double = JoinWait.millis(stage.sinceNanos, nowNanos)

  /** The estimate with what became of the wait. */
  def inEstimate(estimate: JoinFacts): JoinFacts =
    if (isOver) estimate.copy(waiting = released)
    else if (dropped.isEmpty) estimate
    else estimate.copy(waiting = estimate.waiting.map(wait => if (wait.waits) wait else wait.copy(outcome = dropped)))

  /** The decision with the length of the wait and what it was good for. */
  def inDecision(decision: JoinDecision, nowNanos: Long): JoinDecision =
    if (isOver) decision
    else {
      val isUsed = decision.buildFilter || decision.method.exists(_ != decision.facts.sparkMethod)
      val outcome = WaitOutcome(if (isUsed) WaitEnd.Used else WaitEnd.Unused, waitedMillis(nowNanos))
      val waiting = decision.facts.waiting.map(wait => if (wait.waits) wait.copy(outcome = Some(outcome)) else wait)
      decision.copy(facts = decision.facts.copy(waiting = waiting))
    }

  /** The wait after an estimate that does not wait. */
  def drop(nowNanos: Long): JoinWait =
    if (dropped.isDefined) this else copy(dropped = Some(WaitOutcome(WaitEnd.Released, waitedMillis(nowNanos))))

  /** The wait after an estimate that waits. */
  def resume: JoinWait = if (dropped.isEmpty) this else copy(dropped = None)

  /** Ends the wait before its build side has finished. */
  def release(wait: WaitDecision, reason: Reason, nowNanos: Long): JoinWait =
    copy(released = Some(wait.copy(waits = false, reason = reason, outcome = Some(WaitOutcome(WaitEnd.Released, waitedMillis(nowNanos))))))
}

object JoinWait {

  /** What a build side waits for: a stage of its own, or before there is one, the stages below.
    *
    * @param isOwn
    *   whether the build side's own stage exists
    * @param buildMillis
    *   how long the build side was predicted to take, which changes when a stage below has finished
    * @param sinceNanos
    *   when this was first seen, as `System.nanoTime`
    */
  final case class Stage(isOwn: Boolean, buildMillis: Double, sinceNanos: Long) {
    def isSame(other: Stage): Boolean = isOwn == other.isOwn && buildMillis == other.buildMillis
  }

  private def millis(fromNanos: Long, toNanos: Long): Double = (toNanos - fromNanos) / 1e6
}
