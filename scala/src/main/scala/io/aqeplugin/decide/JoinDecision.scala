package io.aqeplugin.decide

/** A priced or ruled-out option.
  *
  * @param costMillis
  *   predicted cost, absent when the option was ruled out before it was priced
  * @param reason
  *   why the option was taken or not
  * @param terms
  *   the parts of the cost that are not 0, where they were asked for
  */
final case class WeighedOption(option: JoinOption, costMillis: Option[Double], reason: Reason, terms: Seq[CostTerm] = Nil)

/** What is done: a method, or none where it is left to Spark, and whether there is a filter. */
final case class JoinChoice(method: Option[Method], withFilter: Boolean) {

  /** Its name in events, tables and metrics. */
  def strategy: Strategy = method.fold[Strategy](Strategy.LeaveToSpark)(JoinOption(_, withFilter).strategy)
}

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
  *   every option with its price and reason, the chosen one included
  * @param flipPoints
  *   where the choice would be another, where that was asked for
  */
final case class JoinDecision(
    facts: JoinFacts,
    method: Option[Method],
    reason: Reason,
    buildFilter: Boolean,
    filterReason: Reason,
    passRate: Double,
    passRateSource: PassRateSource,
    options: Seq[WeighedOption],
    flipPoints: Seq[FlipPoint] = Nil
) {

  /** The chosen option; none when the method is left to Spark. */
  def taken: Option[JoinOption] = method.map(JoinOption(_, buildFilter))

  /** The decision's name in events, tables and metrics. */
  def choice: Strategy = JoinChoice(method, buildFilter).strategy
}
