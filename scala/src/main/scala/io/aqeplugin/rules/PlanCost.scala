package io.aqeplugin.rules

import org.apache.spark.SparkConf
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{Cost, CostEvaluator, SimpleCostEvaluator}
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.place.PlaceFilters

/** Prices a plan as if it had no filters, by the user's own evaluator or Spark's.
  *
  * Spark's counts every shuffle in the tree. The build sides below filters are copies of what stands in the joins; counted again they make AQE
  * throw away re-plans that are in truth cheaper, its own change to a broadcast join among them.
  */
final class PlanCost(conf: SparkConf) extends CostEvaluator {
  private val inner: CostEvaluator = conf.getOption(PlanCost.WrappedKey) match {
    case Some(own) => CostEvaluator.instantiate(own, conf)
    case None      => SimpleCostEvaluator(SQLConf.get.getConf(SQLConf.ADAPTIVE_FORCE_OPTIMIZE_SKEWED_JOIN))
  }

  override def evaluateCost(plan: SparkPlan): Cost = inner.evaluateCost(PlaceFilters.strip(plan))
}

object PlanCost {

  /** Where the user's own evaluator is kept. */
  val WrappedKey = "spark.aqePlugin.wrappedCostEvaluatorClass"
}
