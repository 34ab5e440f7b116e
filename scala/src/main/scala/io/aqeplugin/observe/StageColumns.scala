package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, NamedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, QueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec

/** Traces columns down to the column of an exchange or stage that they copy.
  *
  * Each row of a copy holds the column's value from a different row, so a copy as a whole is no longer than the column as a whole.
  */
object StageColumns {

  /** The column of `source` that `column`, an output column of `plan` above it, copies; none when it is computed on the way. */
  def origin(plan: SparkPlan, source: SparkPlan, column: Attribute): Option[Attribute] = plan match {
    case found if found eq source     => found.output.find(_.exprId == column.exprId)
    case ProjectExec(list, child)     => copied(list, column).flatMap(origin(child, source, _))
    case aggregate: BaseAggregateExec => throughAggregate(aggregate, column).flatMap(origin(aggregate.child, source, _))
    case stage: QueryStageExec        => origin(StagePlan.of(stage), source, column)
    case StartedFilters(_, scan)      => origin(scan, source, column)
    case other                        =>
      other.children match {
        case Seq(child) if child.outputSet.contains(column) => origin(child, source, column)
        case _                                              => None
      }
  }

  /** As above, for a logical plan. */
  def origin(plan: LogicalPlan, source: SparkPlan, column: Attribute): Option[Attribute] = plan match {
    case stage: LogicalQueryStage => origin(stage.physicalPlan, source, column)
    case Project(list, child)     => copied(list, column).flatMap(origin(child, source, _))
    case Filter(_, child)         => origin(child, source, column)
    case _                        => None
  }

  private def copied(list: Seq[NamedExpression], column: Attribute): Option[Attribute] =
    list.find(_.exprId == column.exprId).collect {
      case attribute: Attribute       => attribute
      case Alias(child: Attribute, _) => child
    }

  private def throughAggregate(aggregate: BaseAggregateExec, column: Attribute): Option[Attribute] =
    copied(aggregate.resultExpressions, column).flatMap { result =>
      copied(aggregate.groupingExpressions, result).orElse(pickedFrom(aggregate, result))
    }

  /** The input column that an aggregate's result takes one of its values from, as a maximum does. */
  private def pickedFrom(aggregate: BaseAggregateExec, result: Attribute): Option[Attribute] = {
    val functions = aggregate.aggregateExpressions
    val buffers = functions.map(_.aggregateFunction.aggBufferAttributes.size)
    val firstBuffer = aggregate.child.output.size - buffers.sum
    functions.indices.find(i => functions(i).resultAttribute.exprId == result.exprId).flatMap { i =>
      functions(i) match {
        case AggregateExpression(_: Max | _: Min | _: First | _: Last, Final, _, _, _) =>
          aggregate.child.output.lift(firstBuffer + buffers.take(i).sum)
        case _ => None
      }
    }
  }
}
