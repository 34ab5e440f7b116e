package io.aqeplugin.place

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.execution.{LimitExec, SampleExec, SparkPlan, TakeOrderedAndProjectExec}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.window.{WindowExecBase, WindowGroupLimitExec}

/** Whether running a plan once more gives the same rows, whatever order rows come in.
  *
  * A filter is built from the first run of a build side. When a lost executor makes Spark run it again and other rows come out, the rows of the probe
  * side that would have met them are already gone. Spark calls an expression deterministic that gives the same value for the same rows ''in the same
  * order'', which is less: shuffled rows come in any.
  */
private[place] object Repeatable {

  def apply(plan: SparkPlan): Boolean = plan match {
    case stage: QueryStageExec      => apply(stage.plan)
    case reused: ReusedExchangeExec => apply(reused.child)
    // Lost with an executor, a cached table is computed again like anything else.
    case cached: InMemoryTableScanExec   => apply(cached.relation.cachedPlan)
    case adaptive: AdaptiveSparkPlanExec => apply(adaptive.executedPlan)
    case other                           => keepsItsRows(other) && other.expressions.forall(_.deterministic) && other.children.forall(apply)
  }

  private def keepsItsRows(plan: SparkPlan): Boolean = plan match {
    // Which rows come first, or at a tie, is nobody's promise.
    case _: LimitExec | _: TakeOrderedAndProjectExec | _: SampleExec => false
    case limit: WindowGroupLimitExec                                 => isOfRanks(limit.rankLikeFunction)
    case window: WindowExecBase => window.windowExpression.forall(_.collectFirst { case w: WindowExpression => w }.forall(isRepeatable))
    case aggregate: BaseAggregateExec => aggregate.aggregateExpressions.forall(a => isOfSets(a.aggregateFunction))
    case _                            => true
  }

  private def isRepeatable(window: WindowExpression): Boolean = window.windowFunction match {
    case AggregateExpression(function, _, _, _, _) => isOfSets(function) && isOfWholePartition(window.windowSpec.frameSpecification)
    case function                                  => isOfRanks(function)
  }

  private def isOfWholePartition(frame: WindowFrame): Boolean = frame match {
    case SpecifiedWindowFrame(_, UnboundedPreceding, UnboundedFollowing) => true
    case _                                                               => false
  }

  /** Functions that give rows at a tie the same value. */
  private def isOfRanks(function: Expression): Boolean = function match {
    case _: Rank | _: DenseRank | _: PercentRank | _: CumeDist => true
    case _                                                     => false
  }

  /** Functions of which rows there are, and not of which came first. */
  private def isOfSets(function: AggregateFunction): Boolean = function match {
    case _: Count | _: Sum | _: Average | _: Min | _: Max | _: CentralMomentAgg | _: BitAggregate | _: HyperLogLogPlusPlus => true
    case _                                                                                                                 => false
  }
}
