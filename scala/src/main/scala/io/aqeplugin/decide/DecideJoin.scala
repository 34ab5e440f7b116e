package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf

/** Decides how a join continues once its build side has finished. A pure, total function: every input has a decision, and equal inputs have
  * equal decisions.
  *
  * Options that are not allowed are ruled out; [[CostModel]] prices the others, and the cheapest wins. A filter must save more than the tie
  * share of the same method without it, and another method must beat Spark's own by more than the tie share. A hint fixes the method and
  * leaves the filter open. A join whose probe side has started can only be hashed instead of sorted. A join that is forced has its options weighed all the same.
  */
object DecideJoin {

  def decide(facts: JoinFacts, thresholds: Thresholds): JoinDecision =
    thresholds(AqeConf.Force).of(facts.joinId).fold(ofModel(facts, thresholds))(new ForcedChoice(facts, _, thresholds).decide)

  /** The decision if the join is not forced. */
  private[decide] def ofModel(facts: JoinFacts, thresholds: Thresholds): JoinDecision = {
    val weighing = new Weighing(facts, thresholds)
    val fixed = whyFixed(facts)
    facts.look.flatMap(WorthLooking.refused(_, thresholds)) match {
      case Some(reason)                                 => notLookedAt(facts, reason)
      case None if facts.probe.started && fixed.isEmpty => weighing.chooseStarted(facts.whyStarted)
      case None if facts.probe.started                  => weighing.leave(facts.whyStarted)
      case None                                         => fixed.fold(weighing.choose)(weighing.leave)
    }
  }

  /** The decision for a join of which nobody has found out more than that it is there: no option is weighed, ruled out or priced. */
  private def notLookedAt(facts: JoinFacts, reason: Reason): JoinDecision = JoinDecision(
    facts,
    Strategy.LeaveToSpark,
    reason,
    buildFilter = false,
    reason,
    passRate = 1.0,
    options = JoinOption.All.map(WeighedOption(_, None, reason))
  )

  /** Why no decision can change the method. */
  private[aqeplugin] def whyFixed(facts: JoinFacts): Option[Reason] =
    if (facts.hint.isDefined) hinted(facts)
    else if (facts.build.rows < 0) Some(Reason(ReasonCode.FactsMissing))
    else if (KeptStrategies(facts.sparkStrategy)) Some(Reason(ReasonCode.OtherStrategy))
    else None

  /** Cannot be written in a query. Spark's plan of a MERGE has it, so that it finds target rows that match twice. */
  private[decide] val HintOfCommand = "no_broadcast_and_replication"

  private def hinted(facts: JoinFacts): Option[Reason] =
    facts.hint.map(name => Reason(if (name == HintOfCommand) ReasonCode.CommandHint else ReasonCode.Hint))

  private val KeptStrategies: Set[Strategy] = Set(Strategy.ShuffledHash, Strategy.LeaveToSpark)

  /** The decision for a join that is left alone for `reason` before its build side was measured: prices are estimates, and there is no
    * filter. A hint is the reason for the method.
    */
  def leftAlone(facts: JoinFacts, thresholds: Thresholds, reason: Reason): JoinDecision =
    new Weighing(facts, thresholds).leave(hinted(facts).getOrElse(reason))
      .copy(buildFilter = false, filterReason = reason)
}
