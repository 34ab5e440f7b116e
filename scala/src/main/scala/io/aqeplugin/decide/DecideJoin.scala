package io.aqeplugin.decide

/** Chooses how a join whose build side is done goes on. Pure and total: any facts have a decision, and the same facts always the same one.
  *
  * First what may not be is ruled out, then what is left is priced by [[CostModel]] and the cheapest wins. Within one method, a filter must pay by
  * more than the tie share; between methods, one must beat Spark's own by more than the tie share. A hint settles the method and leaves the filter
  * open. Nothing is decided about a join whose probe side runs already.
  */
object DecideJoin {

  def decide(facts: JoinFacts, thresholds: Thresholds): JoinDecision = {
    val weighing = new Weighing(facts, thresholds)
    if (facts.probe.started) weighing.leave(facts.whyStarted)
    else if (facts.hint.isDefined) weighing.leave(Reason(ReasonCode.Hint))
    else if (facts.build.rows < 0) weighing.leave(Reason(ReasonCode.FactsMissing))
    else if (facts.sparkStrategy == Strategy.LeaveToSpark) weighing.leave(Reason(ReasonCode.OtherStrategy))
    else weighing.choose
  }

  /** A join that is left alone for `reason` before its build side was measured: priced by what was estimated, and without a filter. */
  def leftAlone(facts: JoinFacts, thresholds: Thresholds, reason: Reason): JoinDecision =
    new Weighing(facts, thresholds).leave(reason).copy(buildFilter = false, filterReason = reason)
}
