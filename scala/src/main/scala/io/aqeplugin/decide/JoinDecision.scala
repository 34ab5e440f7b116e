package io.aqeplugin.decide

/** A priced or ruled-out option. */
@Told(doc = "one option")
final case class WeighedOption(
    @Told(doc = "the option", flat = true) option: JoinOption,
    @Told(
      doc = "predicted cost; null when the option was ruled out before it was priced",
      unit = "millis",
      kind = "number"
    ) costMillis: Option[Double],
    @Told(doc = "why the option was taken or not") reason: Reason,
    @Told(doc = "the parts of the cost that are not 0", optional = true) terms: Seq[CostTerm] = Nil
)

/** What a join would have been decided to that is forced to something else. */
@Told(doc = "what the model decides of a forced join by the same facts; a probe side that was forced to start counts as waiting")
final case class Unforced(
    @Told(doc = "the strategy that it chooses") choice: Strategy,
    @Told(doc = "why this strategy") reason: Reason,
    @Told(doc = "whether there would be a filter") buildFilter: Boolean,
    @Told(doc = "why there would or would not") filterReason: Reason
)

/** The decision for one join, with all that is needed to explain, store, replay or test it.
  */
@Told(doc = "the decision for one join, with its reasons")
final case class JoinDecision(
    @Told(doc = "the facts that were known") facts: JoinFacts,
    @Told(doc = "the strategy that was chosen") choice: Strategy,
    @Told(doc = "why this strategy") reason: Reason,
    @Told(doc = "whether the build side's keys become a filter in the probe side's scans") buildFilter: Boolean,
    @Told(doc = "why they do or do not") filterReason: Reason,
    @Told(doc = "estimated share of probe rows that a filter would let through", unit = "ratio") passRate: Double,
    @Told(doc = "what that share was estimated from", optional = true) passRateSource: PassRateSource = PassRateSource.Unknown,
    @Told(doc = "every option, the chosen one included; of a forced join, as the model weighs them") options: Seq[WeighedOption],
    @Told(doc = "of a join that is forced, what would have been decided otherwise; null of any other join") unforced: Option[Unforced] =
      None
) {

  /** The chosen option; none when the method is left to Spark. */
  def taken: Option[JoinOption] = JoinOption.of(choice, buildFilter)

  /** What runs by this decision: where the method is left to Spark, its own.
    *
    * @param withFilter
    *   whether the filter that was decided works
    */
  def carriedOut(withFilter: Boolean): JoinOption = JoinOption(method.getOrElse(facts.sparkMethod), buildFilter && withFilter)

  /** The chosen method; none when it is left to Spark. */
  def method: Option[Method] = taken.map(_.method)
}
