package io.aqeplugin.observe

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.expressions.{DynamicPruningSubquery, Expression}
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.execution.{SQLExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, LogicalQueryStage, QueryStageExec}
import org.apache.spark.sql.execution.command.ExplainCommand
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.exchange.Exchange

/** The plans of one query, its own and those of its subqueries. AQE runs equal exchanges of all of them once, but plans each by itself and at
  * other times, and the plan of one does not show the others. They are compared by their logical plans, which are known before any of them
  * is planned.
  *
  * @param plans
  *   the logical plans, each once; none if the query has no subquery
  * @param haveJoinsAlike
  *   whether equal joins of several plans may be treated as one
  */
final case class QueryPlans(plans: Seq[LogicalPlan], haveJoinsAlike: Boolean = true) {
  import QueryPlans._

  private lazy val scans: Seq[Map[ScanUnit, Int]] = plans.map(counted)

  /** The joins of which each of several plans has an equal one, with equal sides, and only one. */
  private lazy val alike: Map[JoinId, Seq[JoinOfPlan]] =
    if (plans.size < 2 || !haveJoinsAlike) Map.empty
    else {
      val joins = plans.zipWithIndex.flatMap { case (plan, number) =>
        plan.collect { case join: Join => EqualityJoin.of(join).map(equal => JoinOfPlan(number, equal.id, join)) }.flatten
      }
      val groups = joins.groupBy(_.join.canonicalized).values
      groups.filter(group => group.size > 1 && group.map(_.plan).distinct.size == group.size).flatMap(group =>
        group.map(_.id -> group)
      ).toMap
    }

  /** Of equal joins of several plans the first, and any other join itself. */
  def firstOf(join: JoinId): JoinId = alike.get(join).fold(join)(_.head.id)

  /** Whether other plans have an equal join. */
  def isShared(join: JoinId): Boolean = alike.contains(join)

  /** Whether a filter of this join leaves an exchange below it, which has not started, equal in all plans of the query that may run it: they
    * use the exchange's scans for nothing but an equal join.
    */
  def useAlike(exchange: SparkPlan, join: JoinId): Boolean = alike.get(join).exists { joins =>
    linkOf(exchange).exists { part =>
      val own = scansOf(part).toSet
      plans.indices.filter(number => own.forall(scans(number).contains)).forall { number =>
        joins.find(_.plan == number).exists(one => own.forall(scan => one.scans.get(scan) == scans(number).get(scan)))
      }
    }
  }

  /** Equal for equal exchanges of several plans, whatever of them has run, and for few others; none if the logical plan is not known. */
  def keyOf(exchange: Exchange): Option[AnyRef] = linkOf(exchange).map { part =>
    val columns = exchange.outputPartitioning match {
      case partitioning: Expression => partitioning.references.toSeq.map(_.name).sorted
      case _                        => Nil
    }
    (part.canonicalized, exchange.nodeName, columns)
  }

  /** Whether another plan of the query may run an exchange that equals this one, which has not started: equal exchanges read equal scans. */
  def mayShare(exchange: SparkPlan): Boolean = plans.size > 1 && linkOf(exchange).forall { part =>
    val own = scansOf(part).distinct
    // One of them is the exchange's own plan.
    scans.count(others => own.forall(others.contains)) > 1
  }
}

object QueryPlans {
  val None: QueryPlans = QueryPlans(Nil)

  /** The plans of a running query. */
  def of(executionId: Long): QueryPlans = Executions.optimizedPlan(executionId).fold(None)(of)

  /** Whether the joins of a running query may only be observed, or of `plan` if none runs: a filter could lose metrics of the user's; or it has a recursive part, or loads a
    * cached table that has one. Spark plans each step of a recursion anew: the same joins, over other rows.
    */
  def isOnlyObserved(executionId: Option[Long], plan: QueryPlan[_]): Boolean = {
    // EXPLAIN's plan may run later.
    val whole = executionId.flatMap(Executions.optimizedPlan).fold[QueryPlan[_]](plan)(identity)
    isRecursive(whole) || ObservedMetrics.areBelowJoin(whole)
  }

  /** Whether the calling thread works for a command, which may write the rows of its query. A command of Delta's runs its query as an execution of its own. */
  def isWrite(sparkContext: SparkContext): Boolean =
    Executions.idOf(sparkContext, SQLExecution.EXECUTION_ROOT_ID_KEY).flatMap(Executions.of).map(_.logical).exists(writes)

  private def writes(plan: LogicalPlan): Boolean = plan match {
    case _: CacheTable | _: CacheTableAsSelect => false
    case write: V2WriteCommand                 => !isDiscarded(write.table)
    // Shown is the plan that would run, which is only parsed yet.
    case explained: ExplainCommand => explained.logicalPlan.exists(part => part.isInstanceOf[ParsedStatement] || writes(part))
    // `FROM … INSERT … INSERT …`
    case several: Union => several.children.exists(writes)
    case WithCTE(of, _) => writes(of)
    case other          => other.isInstanceOf[Command]
  }

  /** Whether what is written is thrown away, as by the source `noop`, with which queries are measured. */
  private def isDiscarded(table: LogicalPlan): Boolean = table match {
    case relation: DataSourceV2Relation => relation.table.name == NoopTable
    case _                              => false
  }

  private val NoopTable = "noop-table"

  private def isRecursive(plan: QueryPlan[_]): Boolean = {
    // A cached table may read another one several times, and that a third.
    val seen = ByIdentity.empty[QueryPlan[_], Unit]
    def isSo(part: QueryPlan[_]): Boolean = seen.put(part, ()).isEmpty && (isRecursion(part) || partsOf(part).exists(isSo))
    isSo(plan)
  }

  /** The children of a plan, its subqueries, and what is inside of it. */
  private[observe] def partsOf(plan: QueryPlan[_]): Seq[QueryPlan[_]] = plan match {
    case adaptive: AdaptiveSparkPlanExec => Seq(adaptive.inputPlan)
    case stage: QueryStageExec           => Seq(stage.plan)
    case stage: LogicalQueryStage        => Seq(stage.logicalPlan)
    case other => Seq(other.children, other.innerChildren, other.subqueries).flatten.map(_.asInstanceOf[QueryPlan[_]])
  }

  // Known by name: Spark 4.0 has none.
  private val isRecursion = NamedNodes("UnionLoop")

  def of(plan: LogicalPlan): QueryPlans =
    if (!plan.containsPattern(TreePattern.PLAN_EXPRESSION)) None
    else {
      // Pruning's own plans of a build side are another matter, see PruningBuilds.
      val pruning = plan.collectWithSubqueries { case node =>
        node.expressions.flatMap(_.collect { case pruning: DynamicPruningSubquery => pruning.buildQuery })
      }.flatten
      val others = plan.subqueriesAll.filterNot(sub => pruning.exists(_ eq sub))
      if (others.isEmpty) None else QueryPlans((plan +: others).distinctBy(_.canonicalized))
    }

  /** A scan with its conditions and the columns that are read: equal for equal scans. */
  private final case class ScanUnit(relation: LogicalPlan, columns: Set[String], conditions: Set[Expression])

  private final case class JoinOfPlan(plan: Int, id: JoinId, join: Join) {
    lazy val scans: Map[ScanUnit, Int] = counted(join)
  }

  /** How often a plan has each scan. */
  private def counted(plan: LogicalPlan): Map[ScanUnit, Int] = scansOf(plan).groupBy(identity).map { case (scan, all) => scan -> all.size }

  private def scansOf(plan: LogicalPlan): Seq[ScanUnit] = plan match {
    case PhysicalOperation(projects, filters, leaf) if leaf.children.isEmpty =>
      val read = (projects ++ filters).flatMap(_.references).map(_.exprId).toSet
      val columns = leaf.output.filter(column => read(column.exprId)).map(_.name).toSet
      Seq(ScanUnit(leaf.canonicalized, columns, filters.map(QueryPlan.normalizeExpressions(_, leaf.output)).toSet))
    case other => other.children.flatMap(scansOf)
  }

  /** The logical plan of an exchange, as it was before any part of it ran. */
  private def linkOf(exchange: SparkPlan): Option[LogicalPlan] =
    exchange.logicalLink.orElse(exchange.children.headOption.flatMap(_.collectFirst(Function.unlift(_.logicalLink)))).map(beforeRunning)

  private def beforeRunning(plan: LogicalPlan): LogicalPlan = plan.transformUp { case stage: LogicalQueryStage =>
    beforeRunning(stage.logicalPlan)
  }
}
