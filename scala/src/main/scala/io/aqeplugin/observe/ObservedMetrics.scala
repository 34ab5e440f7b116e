package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.plans.QueryPlan

/** The metrics that a user observes with `Dataset.observe`. */
object ObservedMetrics {
  private val isOne = NamedNodes("CollectMetrics")

  /** Whether metrics are observed below an operator of several inputs, in a plan, its subqueries or a cached table that it reads.
    *
    * Where a filter leaves nothing of one input, AQE puts an empty relation in place of the operator. Spark looks for the metrics in the plan
    * that is left, so those of every input are lost, although they were counted.
    */
  def areBelowJoin(plan: QueryPlan[_]): Boolean = {
    // A cached table may read another one several times, and that a third.
    val seen = ByIdentity.empty[QueryPlan[_], Boolean]
    def are(part: QueryPlan[_], isBelow: Boolean): Boolean =
      !seen.get(part).exists(_ || !isBelow) && {
        seen.update(part, isBelow)
        isBelow && isOne(part) || QueryPlans.partsOf(part).exists(are(_, isBelow || part.children.size > 1))
      }
    are(plan, isBelow = false)
  }
}
