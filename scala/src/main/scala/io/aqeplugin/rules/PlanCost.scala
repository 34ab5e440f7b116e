package io.aqeplugin.rules

import org.apache.spark.SparkConf
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{Cost, CostEvaluator, SimpleCostEvaluator}
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.SessionConf
import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.place.PlaceFilters

/** Prices a plan as if it had no filters, by the user's own evaluator or Spark's.
  *
  * Spark's counts every shuffle in the tree. The build sides below filters are copies of what stands in the joins; counted again they make AQE
  * throw away re-plans that are in truth cheaper, its own change to a broadcast join among them.
  */
final class PlanCost(conf: SparkConf) extends CostEvaluator {
  private val inner: CostEvaluator = conf.getOption(SessionConf.WrappedCostEvaluator) match {
    case Some(own) => CostEvaluator.instantiate(own, conf)
    case None      => SimpleCostEvaluator(SQLConf.get.getConf(SQLConf.ADAPTIVE_FORCE_OPTIMIZE_SKEWED_JOIN))
  }

  override def evaluateCost(plan: SparkPlan): Cost = inner.evaluateCost(stripped(plan))

  // AQE asks outside of any rule: a fault here would be one of the query's.
  private def stripped(plan: SparkPlan): SparkPlan =
    try PlaceFilters.strip(plan)
    catch {
      case Survivable(error) =>
        Faults.note("plan cost", "the plan is priced with its filters", error)
        plan
    }
}
