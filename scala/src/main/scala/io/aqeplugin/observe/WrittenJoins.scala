package io.aqeplugin.observe

import scala.annotation.tailrec

import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.{ENSURE_REQUIREMENTS, Exchange, ShuffleExchangeLike}
import org.apache.spark.sql.execution.joins.BaseJoinExec

/** The joins of a plan whose rows its last stage writes, if it is the plan of a write: no shuffle lies between them and the end of the plan. The
  * shuffle of a join above does not count before it has started, because the join may turn out to need none.
  */
final class WrittenJoins(plan: SparkPlan) {
  private val joins = ByIdentity.empty[SparkPlan, Unit]

  reach(plan)

  def of(node: SparkPlan): Boolean = joins.contains(node)

  private def reach(node: SparkPlan): Unit = node match {
    case _: Exchange | _: QueryStageExec => ()
    case join: BaseJoinExec              =>
      joins.update(join, ())
      join.children.foreach(child => reach(belowShuffle(child)))
    case other => other.children.foreach(reach)
  }

  /** The input of a join without the shuffle that is only there for the join. */
  @tailrec
  private def belowShuffle(input: SparkPlan): SparkPlan = input match {
    case sort: SortExec => belowShuffle(sort.child)
    // One that the author wrote stays.
    case shuffle: ShuffleExchangeLike if shuffle.shuffleOrigin == ENSURE_REQUIREMENTS => shuffle.child
    case other                                                                        => other
  }
}
