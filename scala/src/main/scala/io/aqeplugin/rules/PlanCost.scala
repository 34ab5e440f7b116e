package io.aqeplugin.rules

import org.apache.spark.SparkConf
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{Cost, CostEvaluator, SimpleCostEvaluator}
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.SessionConf
import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.place.PlaceFilters

/** Prices a plan as if it had no filters, with the user's cost evaluator or Spark's.
  *
  * Spark's evaluator counts every shuffle in the tree. The build sides below filters are copies of those in the joins; if they counted
  * twice, AQE would discard re-plans that are really cheaper, such as its own change to a broadcast join.
  */
final class PlanCost(conf: SparkConf) extends CostEvaluator {
  private val inner: CostEvaluator = conf.getOption(SessionConf.WrappedCostEvaluator) match {
    case Some(own) => CostEvaluator.instantiate(own, conf)
    case None      => SimpleCostEvaluator(SQLConf.get.getConf(SQLConf.ADAPTIVE_FORCE_OPTIMIZE_SKEWED_JOIN))
  }

  override def evaluateCost(plan: SparkPlan): Cost = inner.evaluateCost(stripped(plan))

  // AQE calls this outside any rule, so a fault here would fail the query.
  private def stripped(plan: SparkPlan): SparkPlan =
    try PlaceFilters.strip(plan)
    catch {
      case Survivable(error) =>
        Faults.note("plan cost", "the plan is priced with its filters", error)
        plan
    }
}
