package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.execution.{SQLExecution, SparkPlan}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeLike

/** The build sides of a query that dynamic partition pruning plans once more, to take its values from the broadcast that the join makes of them.
  *
  * It compares the two plans when the broadcast is done, and prunes nothing when they differ. The one is planned anew after every stage and the other
  * is not, so both have to stay as Spark made them.
  *
  * @param queries
  *   the build sides as they were optimized
  */
final case class PruningBuilds(queries: Seq[LogicalPlan]) {

  private lazy val joinIds: Set[String] = queries.flatMap(_.collect { case join: Join => EqualityJoin.of(join).map(_.id) }.flatten).toSet

  /** Whether `plan` is the pruning's own plan of a build side. */
  def isOwnPlan(plan: SparkPlan): Boolean = queries.nonEmpty && plan.logicalLink.exists(queries.contains(_))

  /** The joins in those broadcasts of `plan` which pruning may use. */
  def joinsIn(plan: SparkPlan): Set[String] =
    if (queries.isEmpty) Set.empty
    else plan.collect { case broadcast: BroadcastExchangeLike => JoinFinder.find(broadcast).map(_.id) }.flatten.toSet.intersect(joinIds)
}

object PruningBuilds {
  val None: PruningBuilds = PruningBuilds(Nil)

  /** Those of a query that is being executed. */
  def of(executionId: Long): PruningBuilds =
    Option(SQLExecution.getQueryExecution(executionId))
      // The plan is there by now; a query that is made while another is optimized must not ask for it.
      .filter(_.tracker.phases.contains(QueryPlanningTracker.OPTIMIZATION))
      .fold(None)(query => of(query.optimizedPlan))

  def of(plan: LogicalPlan): PruningBuilds =
    if (!plan.containsPattern(TreePattern.DYNAMIC_PRUNING_SUBQUERY)) None
    else PruningBuilds(plan.collectWithSubqueries { case node =>
      node.expressions.flatMap(_.collect { case pruning: DynamicPruningSubquery => pruning.buildQuery })
    }.flatten)
}
