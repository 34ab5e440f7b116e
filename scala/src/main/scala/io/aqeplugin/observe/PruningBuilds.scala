package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.BroadcastExchangeLike

/** The build sides that dynamic partition pruning plans a second time, to read its values from the join's broadcast. When that broadcast is
  * done, pruning compares the two plans and prunes nothing if they differ. AQE re-plans only one of them after every stage, so both must
  * stay as Spark planned them.
  *
  * @param queries
  *   the optimized plans of these build sides
  */
final case class PruningBuilds(queries: Seq[LogicalPlan]) {

  private lazy val joinIds: Set[JoinId] = queries.flatMap(_.collect { case join: Join => EqualityJoin.of(join).map(_.id) }.flatten).toSet

  /** Whether `plan` is pruning's own plan of a build side. */
  def isOwnPlan(plan: SparkPlan): Boolean = queries.nonEmpty && plan.logicalLink.exists(queries.contains(_))

  /** The joins inside the broadcasts of `plan` that pruning may use. */
  def joinsIn(plan: SparkPlan): Set[JoinId] =
    if (queries.isEmpty) Set.empty
    else plan.collect { case broadcast: BroadcastExchangeLike => JoinFinder.find(broadcast).map(_.id) }.flatten.toSet.intersect(joinIds)
}

object PruningBuilds {
  val None: PruningBuilds = PruningBuilds(Nil)

  /** The pruning build sides of a running query. */
  def of(executionId: Long): PruningBuilds =
    Executions.optimizedPlan(executionId).fold(None)(of)

  def of(plan: LogicalPlan): PruningBuilds =
    if (!plan.containsPattern(TreePattern.DYNAMIC_PRUNING_SUBQUERY)) None
    else PruningBuilds(plan.collectWithSubqueries { case node =>
      node.expressions.flatMap(_.collect { case pruning: DynamicPruningSubquery => pruning.buildQuery })
    }.flatten)
}
