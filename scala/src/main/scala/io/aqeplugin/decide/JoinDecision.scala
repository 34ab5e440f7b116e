package io.aqeplugin.decide

/** A priced or ruled-out option.
  *
  * @param costMillis
  *   predicted cost, absent when the option was ruled out before it was priced
  * @param reason
  *   why the option was taken or not; of a join that is forced, why the model would have taken it or not
  * @param terms
  *   the parts of the cost that are not 0
  */
final case class WeighedOption(option: JoinOption, costMillis: Option[Double], reason: Reason, terms: Seq[CostTerm] = Nil)

/** The decision for one join, with all that is needed to explain, store, replay or test it.
  *
  * @param method
  *   the chosen method; none when it is left to Spark
  * @param reason
  *   why this method
  * @param filterReason
  *   why the build side's keys do or do not become a filter in the probe side's scans
  * @param buildFilter
  *   whether they do; a broadcast join may have a filter too, when the probe side's scan is far below it
  * @param passRate
  *   estimated share of probe rows that a filter would let through
  * @param passRateSource
  *   what that share was estimated from
  * @param options
  *   every option with its price and reason, the chosen one included; of a join that is forced, as the model weighs them
  */
final case class JoinDecision(
    facts: JoinFacts,
    method: Option[Method],
    reason: Reason,
    buildFilter: Boolean,
    filterReason: Reason,
    passRate: Double,
    passRateSource: PassRateSource,
    options: Seq[WeighedOption]
) {

  /** The chosen option; none when the method is left to Spark. */
  def taken: Option[JoinOption] = method.map(JoinOption(_, buildFilter))

  /** The decision's name in events, tables and metrics. */
  def choice: Strategy = taken.fold[Strategy](Strategy.LeaveToSpark)(_.strategy)
}
