package io.aqeplugin.rules

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.BuildLeft
import org.apache.spark.sql.execution.{FilterExec, ProjectExec, SortExec, SortPrefixUtils, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, BroadcastQueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, Exchange, ShuffleExchangeLike}
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.window.WindowExec

import io.aqeplugin.decide.PathStep
import io.aqeplugin.observe.{KeyTypes, SizeEstimator, StartedFilters}

/** What lies between a join and the scans that its keys reach.
  *
  * @param passed
  *   the operators between, each with the one below it, from the join down
  */
private[rules] final class ProbePath(join: SparkPlan, passed: Seq[(SparkPlan, SparkPlan)], estimates: SizeEstimator) {

  // The steps of the first target are first; an operator that serves the join alone is above all targets, and so among those at the head.
  private val own: Seq[SparkPlan] = ProbePath.ownOf(join, passed.map(_._1))

  /** Number of shuffles, the join's own included. */
  def shuffles: Int = passed.count(_._1.isInstanceOf[ShuffleExchangeLike])

  /** The operators without the join's own shuffle and sort. One above several scans, as above a union, counts once. */
  def steps: Seq[PathStep] =
    passed.filterNot { case (operator, _) => own.exists(_ eq operator) }.flatMap { case (operator, child) => step(operator, child) }

  private def step(operator: SparkPlan, child: SparkPlan): Option[PathStep] = operator match {
    case _: ShuffleExchangeLike => Some(PathStep.Shuffle(rows(child), estimates.rowBytes(child)))
    case sort: SortExec         =>
      val byNumber = sort.sortOrder.size == 1 && SortPrefixUtils.canSortFullyWithPrefix(sort.sortOrder.head)
      Some(PathStep.Sort(rows(child), ProbePath.partitions(child), byRow = !byNumber))
    case _: SortMergeJoinExec        => Some(PathStep.Merge(rows(child)))
    case hash: BroadcastHashJoinExec => Some(ofBroadcastJoin(hash, child))
    case hash: ShuffledHashJoinExec  =>
      if (child eq buildOf(hash)) Some(PathStep.Group(rows(child)))
      else Some(lookup(hash, child, rows(buildOf(hash)) / math.max(1, ProbePath.partitions(hash))))
    case aggregate: BaseAggregateExec if aggregate.groupingExpressions.nonEmpty => Some(PathStep.Group(rows(child)))
    case _                                                                      => None
  }

  private def ofBroadcastJoin(join: BroadcastHashJoinExec, child: SparkPlan): PathStep = {
    val build = buildOf(join)
    val isDense = isOneInteger(join.leftKeys)
    if (child ne build) lookup(join, child, if (isDense) 0L else rows(build))
    else PathStep.Broadcast(rows(build), estimates.rowBytes(build), if (isDense) 0L else rows(ProbePath.probeOf(join)))
  }

  private def lookup(join: HashJoin, child: SparkPlan, tableRows: Long): PathStep =
    PathStep.Lookup(rows(child), tableRows, estimates.rowBytes(buildOf(join)), KeyTypes.areLookedUpByRow(join))

  private def buildOf(join: HashJoin): SparkPlan = if (join.buildSide == BuildLeft) join.left else join.right

  private def isOneInteger(keys: Seq[Expression]): Boolean = KeyTypes.areNumber(keys.map(_.dataType))

  private def rows(plan: SparkPlan): Long = JoinEstimator.rounded(estimates(plan).rows)

}

private[rules] object ProbePath {

  private def probeOf(join: HashJoin): SparkPlan = if (join.buildSide == BuildLeft) join.right else join.left

  /** The shuffle of a probe side for the join alone, unless it has started. */
  def ownShuffle(join: SparkPlan, probe: SparkPlan): Option[ShuffleExchangeLike] =
    ownOf(join, Iterator.iterate(probe)(_.children.head).takeWhile(_.children.size == 1).toSeq).collectFirst {
      case shuffle: ShuffleExchangeLike => shuffle
    }

  /** Number of partitions of a plan. What a join or a projection says of its partitions, it makes anew of what all below it say. */
  @tailrec
  private def partitions(plan: SparkPlan): Int = plan match {
    case join: ShuffledJoin                                                                  => partitions(join.left)
    case join: BroadcastHashJoinExec                                                         => partitions(probeOf(join))
    case _: ProjectExec | _: FilterExec | _: SortExec | _: BaseAggregateExec | _: WindowExec => partitions(plan.children.head)
    case other                                                                               => other.outputPartitioning.numPartitions
  }

  /** What the stage of a shuffle reads that is shared with other uses. The rows of shuffles below count, their bytes do not. */
  def shared(own: ShuffleExchangeLike, share: Double, estimates: SizeEstimator): PathStep = {
    val read = sources(own.child)
    PathStep.Shared(
      JoinEstimator.rounded(read.map(estimates(_).rows).sum),
      JoinEstimator.rounded(read.filter(_.children.isEmpty).map(estimates.scanBytes).sum),
      share
    )
  }

  /** What a stage reads: scans and shuffles. A broadcast below is built once, however often the stage runs. */
  private def sources(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case _: BroadcastExchangeLike | _: BroadcastQueryStageExec => Nil
    case exchange: Exchange                                    => Seq(exchange)
    case StartedFilters(_, scan)                               => sources(scan)
    case leaf if leaf.children.isEmpty                         => Seq(leaf)
    case other                                                 => other.children.flatMap(sources)
  }

  /** Of the operators from the join down, those that serve the join alone. */
  private def ownOf(join: SparkPlan, below: => Seq[SparkPlan]): Seq[SparkPlan] = join match {
    case _: ShuffledJoin =>
      val (arranging, rest) = below.span(node => node.isInstanceOf[SortExec] || node.isInstanceOf[AQEShuffleReadExec])
      arranging ++ rest.headOption.filter(_.isInstanceOf[ShuffleExchangeLike])
    case _ => Nil
  }
}
