package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.plans.logical.{EmptyRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{EmptyRelationExec, FilterExec, ReusedSubqueryExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, ExchangeQueryStageExec, LogicalQueryStage, QueryStageExec}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/** The filters on one scan as ordinary conditions, one [[FilterExec]] for each, which an engine carries out.
  *
  * @param steps
  *   each with the rows that came to it and those that are left, the lowest first
  */
final class LoweredFilters private (steps: Seq[LoweredFilters.Step]) extends StartedFilters {
  override def joinIdsByFilter: Seq[Seq[String]] = steps.map(_.filters.map(_.joinId))

  // The rows of a union are counted once, for its first filter.
  override def outcomes: Seq[FilterOutcome] = steps.flatMap { step =>
    step.filters.zipWithIndex.map { case (filter, i) =>
      if (filter.passesAll || i > 0) filter else filter.copy(rowsIn = step.rowsIn, rowsOut = step.rowsOut)
    }
  }

  override def rows: (Long, Long) = (steps.head.rowsIn, steps.last.rowsOut)

  // Where an expression of Spark's fails, the query fails without the plugin too: these cannot fail.
  override def faults: Long = 0
}

object LoweredFilters {

  /** @param filters
    *   outcomes without rows: of one filter, or of those of a union
    */
  private final case class Step(filters: Seq[FilterOutcome], rowsIn: Long, rowsOut: Long)

  private val Tag = TreeNodeTag[Seq[FilterOutcome]]("aqe_plugin_lowered_filter")

  /** Names the filter that a condition is, or those of the union. */
  def mark(condition: FilterExec, filters: Seq[FilterOutcome]): FilterExec = {
    condition.setTagValue(Tag, filters)
    condition
  }

  /** The plan below a condition that is such a filter. */
  def below(plan: SparkPlan): Option[SparkPlan] = plan match {
    case FilterExec(_, child) if plan.getTagValue(Tag).isDefined => Some(child)
    case _                                                       => None
  }

  /** The filters that a plan of Spark's operators begins with, and the scan below them. */
  def of(plan: SparkPlan): Option[(LoweredFilters, SparkPlan)] =
    // Asked of every operator of a plan.
    if (below(plan).isEmpty) None
    else {
      val conditions = Iterator.unfold(plan)(node => below(node).map(child => ((node, child), child))).toSeq
      val steps = conditions.flatMap { case (node, child) =>
        node.getTagValue(Tag).map(Step(_, StagePlan.rows(child), StagePlan.rows(node)))
      }
      Some((new LoweredFilters(steps.reverse), conditions.last._2))
    }

  /** All that have run in an executed plan, its subqueries included. What Spark ran once and used twice counts once. */
  def ran(plan: SparkPlan): Seq[LoweredFilters] = in(StagePlan.ofSpark(plan))

  private def in(plan: SparkPlan): Seq[LoweredFilters] = plan match {
    case adaptive: AdaptiveSparkPlanExec => ran(adaptive.executedPlan)
    // The stage of the result does not say that it has run.
    case stage: ExchangeQueryStageExec if !stage.isMaterialized => Nil
    case stage: QueryStageExec                                  => in(StagePlan.of(stage))
    case _: ReusedExchangeExec | _: ReusedSubqueryExec          => Nil
    case EmptyRelationExec(logical)                             => before(logical)
    case other                                                  =>
      of(other).fold(other.children.flatMap(in)) { case (filters, scan) => filters +: in(scan) } ++ other.subqueries.flatMap(ran)
  }

  /** Of the stages that a plan had before Spark found that it gives no row. */
  private def before(logical: LogicalPlan): Seq[LoweredFilters] = logical.collect {
    case LogicalQueryStage(_, stage) => in(stage)
    case EmptyRelation(earlier)      => before(earlier)
  }.flatten
}
