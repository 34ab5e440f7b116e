package io.aqeplugin.place

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.{LeftAnti, LeftSemi}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, Exchange, ReusedExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.execution.joins.BaseJoinExec

import io.aqeplugin.exec.RuntimeFilterExec
import io.aqeplugin.observe.{HeldKeys, JoinKey, StagePlan}

/** Where a filter gets its keys from. */
object BuildExchange {

  /** The first exchange or finished stage below a join on its build side, with the keys over its output.
    *
    * Operators between the join and the exchange may drop rows but never add keys, so the exchange has at least the join's keys.
    */
  def of(build: SparkPlan, keys: Seq[Expression]): Option[(SparkPlan, Seq[Expression])] = build match {
    case found @ (_: Exchange | _: QueryStageExec) if !isReadable(found) => None
    case broadcast: BroadcastExchangeExec   => finishedShuffle(broadcast.child, keys).orElse(named(broadcast, keys))
    case broadcast: BroadcastQueryStageExec => finishedShuffle(StagePlan.of(broadcast), keys).orElse(named(broadcast, keys))
    case found @ (_: ShuffleExchangeExec | _: QueryStageExec) => named(found, keys)
    case read: AQEShuffleReadExec                             => of(read.child, keys)
    case sort: SortExec                                       => of(sort.child, keys)
    case join: BaseJoinExec if isSemi(join)                   => of(join.left, keys)
    case other if other.children.size == 1                    =>
      Lineage.steps(other, keys).headOption.flatMap(step => of(step.child, step.keys))
    case _ => None
  }

  /** Whether a filter can be built from the rows of an exchange: from Spark's own, and not from all that look like one. */
  private def isReadable(found: SparkPlan): Boolean = found match {
    case _: ShuffleExchangeExec | _: BroadcastExchangeExec | _: TableCacheQueryStageExec => true
    case stage: QueryStageExec                                                           => isReadable(StagePlan.of(stage))
    case reused: ReusedExchangeExec                                                      => isReadable(reused.child)
    case _                                                                               => false
  }

  /** Joins that give rows of their left side, each once at most. Other joins may give more rows than the exchange has, so that its size would
    * say nothing about the build side.
    */
  private[aqeplugin] def isSemi(join: BaseJoinExec): Boolean = join.joinType == LeftSemi || join.joinType == LeftAnti

  /** The keys of an exchange that has their columns. */
  private[place] def named(exchange: SparkPlan, keys: Seq[Expression]): Option[(SparkPlan, Seq[Expression])] = for {
    known <- JoinKey.all(keys).toOption
    // Composed with projections below the join, a key may have become one without a value for every row.
    if known.forall(key => exchange.outputSet.contains(key.column) && HeldKeys.hasValues(key))
  } yield (exchange, known.map(_.expression))

  /** The finished shuffle that a broadcast only repeats. A filter reads it in parallel and need not wait for the broadcast relation, and
    * its source stays the same when the relation is ready.
    */
  private def finishedShuffle(plan: SparkPlan, keys: Seq[Expression]): Option[(SparkPlan, Seq[Expression])] = plan match {
    case stage: ShuffleQueryStageExec if stage.isMaterialized => named(stage, keys)
    case project: ProjectExec        => Lineage.steps(project, keys).headOption.flatMap(step => finishedShuffle(step.child, step.keys))
    case filtered: RuntimeFilterExec => finishedShuffle(filtered.child, keys)
    case wrapper @ (_: AQEShuffleReadExec | _: BroadcastExchangeExec | _: WholeStageCodegenExec | _: InputAdapter) =>
      finishedShuffle(wrapper.children.head, keys)
    case _ => None
  }
}
