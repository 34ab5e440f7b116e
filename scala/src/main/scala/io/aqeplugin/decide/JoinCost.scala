package io.aqeplugin.decide

/** What a join cost when it ran, as far as Spark's own metrics tell, beside what that was to cost.
  *
  * @param strategy
  *   how it ran: broadcast or one of the sort-merge joins
  * @param withFilter
  *   whether the build side's keys filtered the probe side's scans
  * @param predictedMillis
  *   the price of what ran, as it stood in the decision
  * @param costMillis
  *   elapsed time, of the scope of a price: `taskMillis` divided by the slots, plus `driverMillis`
  * @param taskMillis
  *   its share of the run time of tasks; over all joins of a query never more than all its tasks took
  * @param driverMillis
  *   elapsed time of making its broadcast and its filter
  * @param shared
  *   several joins worked in one of its stages, whose time was divided between them as their prices are
  * @param otherWork
  *   one of its stages also did what has no price, an aggregation for one: the join cost this much at most
  */
final case class MeasuredCost(
    strategy: Strategy,
    withFilter: Boolean,
    predictedMillis: Double,
    costMillis: Double,
    taskMillis: Double,
    driverMillis: Double,
    shared: Boolean,
    otherWork: Boolean
) {
  def isOf(option: WeighedOption): Boolean = option.strategy == strategy && option.withFilter == withFilter
}

/** Why it is not known what a join cost. */
sealed abstract class Unmeasured(val name: String, val meaning: String)

object Unmeasured {
  case object QueryFailed
      extends Unmeasured("query_failed", "the query failed or was cancelled, so that its work was not done or not all told of")
  case object NotPriced
      extends Unmeasured(
        "not_priced",
        "what ran has no price to hold it against: the probe side had run before, or this option was ruled out"
      )
  case object NotInFinalPlan
      extends Unmeasured("not_in_final_plan", "Spark took the join out of the plan, or ran another one in its place and used its rows")
  case object RanTwice
      extends Unmeasured(
        "ran_twice",
        "the join stands in the final plan more than once, and was priced once; or one of its stages failed and was run again"
      )
  case object StageNotSeen
      extends Unmeasured("stage_not_seen", "the end of one of its stages was not announced, or the stage cannot be told")
  case object TooManyStages extends Unmeasured("too_many_stages", "the query had more stages than are remembered")

  val All: Seq[Unmeasured] = Seq(QueryFailed, NotPriced, NotInFinalPlan, RanTwice, StageNotSeen, TooManyStages)

  def fromName(name: String): Option[Unmeasured] = All.find(_.name == name)
}

final case class JoinCost(joinId: String, measured: Either[Unmeasured, MeasuredCost])
