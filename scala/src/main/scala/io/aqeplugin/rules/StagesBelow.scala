package io.aqeplugin.rules

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.{Exchange, ShuffleExchangeLike}

/** The stages below a node that have not finished. */
private[rules] object StagesBelow {

  /** The exchanges of the nearest ones. */
  def nearest(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case exchange: Exchange    => Seq(exchange)
    case stage: QueryStageExec => if (stage.isMaterialized) Nil else Seq(stage.plan)
    case other                 => other.children.flatMap(nearest)
  }

  /** How many stages of one side of a join run one after the other: its own, and the shuffles that this one reads through each other. The
    * broadcasts among them do not count: those of the other side run at the same time. At least 1.
    */
  def inSequence(side: SparkPlan): Int = 1 + longest(nearest(side).flatMap(_.children))(_.isInstanceOf[ShuffleExchangeLike])

  /** How many stages of a plan are left to run one after the other, broadcasts among them. It may stay as it is when one has finished: where
    * AQE puts a broadcast in place of a shuffle.
    */
  def left(plan: SparkPlan): Int = longest(Seq(plan))(_ => true)

  /** Whether a stage of a plan has been submitted and not finished. */
  def runs(plan: SparkPlan): Boolean = plan.exists {
    case stage: QueryStageExec => !stage.isMaterialized
    case _                     => false
  }

  private def longest(plans: Seq[SparkPlan])(counts: SparkPlan => Boolean): Int = plans.flatMap(nearest).map { exchange =>
    (if (counts(exchange)) 1 else 0) + longest(exchange.children)(counts)
  }.maxOption.getOrElse(0)
}
