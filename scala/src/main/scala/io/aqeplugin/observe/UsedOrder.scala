package io.aqeplugin.observe

import org.apache.spark.sql.execution.{LeafExecNode, SortExec, SparkPlan}
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.SortMergeJoinExec

import io.aqeplugin.decide.Side

/** The sort-merge joins of a plan whose output is as another operator needs it, in order and partitioning, such as the lower one of two
  * joins on the same key. If such a join does anything else, Spark has to shuffle or sort its output.
  *
  * @param mayBroadcast
  *   whether Spark will probably broadcast this side of a sort-merge join; the other side then needs no order, and keeps the one that it has
  */
final class UsedOrder(plan: SparkPlan, mayBroadcast: (SortMergeJoinExec, Side) => Boolean) {
  private val joins = ByIdentity.empty[SparkPlan, Unit]

  // From the top, so that it is known of a join whether its order is used.
  plan.foreach {
    case join: SortMergeJoinExec =>
      if (of(join) || !mayBroadcast(join, Side.Right)) keeps(join.left)
      if (of(join) || !mayBroadcast(join, Side.Left)) keeps(join.right)
    case node => node.requiredChildOrdering.zip(node.children).foreach { case (order, child) => if (order.nonEmpty) keeps(child) }
  }

  def of(node: SparkPlan): Boolean = joins.contains(node)

  /** Follows an order that a node has down to the join that makes it. */
  private def keeps(node: SparkPlan): Unit = node match {
    case join: SortMergeJoinExec                     => joins.update(join, ())
    case _: SortExec | _: Exchange | _: LeafExecNode => ()
    case other if other.outputOrdering.nonEmpty      => other.children.foreach(keeps)
    case _                                           => ()
  }
}
