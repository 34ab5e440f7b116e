package io.aqeplugin.rules

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.BroadcastExchangeLike

import io.aqeplugin.observe._

/** The joins of one plan, and their names in the query's state. */
private[rules] final class PlanJoins(plan: SparkPlan, context: RuleContext) {

  private val allKeyed = JoinFinder.find(plan)
  private val allRanged = JoinRange.find(plan)

  /** Joins beside operators of an engine that is neither Spark nor the plugin, which stay as they are. */
  val foreign: Seq[ForeignJoin] = {
    val found = allKeyed ++ allRanged
    ForeignJoins.of(plan, found, if (found.isEmpty) None else ColumnarRules.applied(plan, context.engine), context.engine)
  }

  /** Joins on equalities. */
  val keyed: Seq[FoundJoin] = ours(allKeyed)

  /** Joins by a range, some of which are on equalities too. */
  val ranged: Seq[FoundJoin] = ours(allRanged)

  def isEmpty: Boolean = keyed.isEmpty && ranged.isEmpty && foreign.isEmpty

  private def ours(found: Seq[FoundJoin]): Seq[FoundJoin] = found.filterNot(join => foreign.exists(_.id == join.id))

  def nameOf(join: FoundJoin): String = names.getOrElseUpdate(join, context.state.nameOf(join.id))

  private val names = ByIdentity.empty[FoundJoin, String]

  private lazy val inPruning = context.pruning.joinsIn(plan)

  /** Whether dynamic partition pruning may use the join, which then must stay as Spark planned it. */
  def isUsedByPruning(join: FoundJoin): Boolean = inPruning.contains(join.id)

  /** Whether the join is inside a broadcast that dynamic partition pruning may use. */
  lazy val isInPruningBuild: FoundJoin => Boolean = {
    val broadcasts =
      if (context.pruning.queries.isEmpty) Nil
      else plan.collect { case broadcast: BroadcastExchangeLike => broadcast.collect { case node => node } }
    val inside = broadcasts.flatten.map(Same(_)).toSet
    join => inside(Same(join.node))
  }
}
