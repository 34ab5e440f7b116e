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
  def areBelowJoin(plan: QueryPlan[_]): Boolean = are(plan, isBelow = false)

  private def are(plan: QueryPlan[_], isBelow: Boolean): Boolean =
    isBelow && isOne(plan) || QueryPlans.partsOf(plan).exists(are(_, isBelow || plan.children.size > 1))
}
