package io.aqeplugin.place

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec
import org.apache.spark.sql.execution.exchange.{ENSURE_REQUIREMENTS, ShuffleExchangeLike}

/** Shuffles that a new plan of AQE has once more, above the stages that have done them.
  *
  * Where a join needs the rows of an author's repartition in other partitions, Spark changes the repartition's own shuffle. The stage of that shuffle then
  * stands for what is below the repartition, so that each new plan repartitions the stage. Spark alone never takes such a plan, which has one shuffle more.
  * But a plan in which a clock ended costs more than any other, and would be replaced by a plan with one shuffle more after each stage, without an end.
  */
private[aqeplugin] object RepeatedShuffles {

  /** The plan with the stages in their place. The rows are in the same partitions. */
  def without(plan: SparkPlan): SparkPlan =
    if (!plan.exists(isOne)) plan
    else
      plan.transformUp {
        case shuffle: ShuffleExchangeLike if isOne(shuffle) => shuffle.child
      }

  private def isOne(plan: SparkPlan): Boolean = plan match {
    case shuffle: ShuffleExchangeLike if shuffle.shuffleOrigin != ENSURE_REQUIREMENTS =>
      shuffle.child match {
        case stage: ShuffleQueryStageExec => stage.outputPartitioning == shuffle.outputPartitioning
        case _                            => false
      }
    case _ => false
  }
}
