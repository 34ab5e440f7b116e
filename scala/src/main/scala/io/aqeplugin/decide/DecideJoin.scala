package io.aqeplugin.decide

/** Decides how a join continues once its build side has finished. A pure, total function: every input has a decision, and equal inputs have
  * equal decisions.
  *
  * Options that are not allowed are ruled out; [[CostModel]] prices the others, and the cheapest wins. A filter must save more than the tie
  * share of the same method without it, and another method must beat Spark's own by more than the tie share. A hint fixes the method and
  * leaves the filter open. A join whose probe side has started is left alone.
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

  /** The decision for a join that is left alone for `reason` before its build side was measured: prices are estimates, and there is no
    * filter.
    */
  def leftAlone(facts: JoinFacts, thresholds: Thresholds, reason: Reason): JoinDecision =
    new Weighing(facts, thresholds).leave(reason).copy(buildFilter = false, filterReason = reason)
}
