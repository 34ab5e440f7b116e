package io.aqeplugin.limit

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap, AttributeReference, Expression, Literal, ScalaUDF}
import org.apache.spark.sql.execution.{FileSourceScanExec, FilterExec, LeafExecNode, ProjectExec, SparkPlan}

import io.aqeplugin.decide.{Reason, ReasonCode}
import io.aqeplugin.observe.Total

/** A scan with nothing but filters and projections between it and a limit.
  *
  * @param conditions
  *   the filters, on the scan's columns; what a filter reads of other columns is computed in between and has columns of its own here
  * @param sources
  *   the scan's column of each output column that is a plain copy of one
  */
final case class LimitedScan(scan: FileSourceScanExec, conditions: Seq[Expression], sources: AttributeMap[Attribute]) {

  /** The scan's column that an output column is a copy of. */
  def source(expression: Expression): Option[AttributeReference] = expression match {
    case column: Attribute => sources.get(column).collect { case reference: AttributeReference => reference }
    case _                 => None
  }

  /** `plan` with another scan in the place of this one. */
  def replacedIn(plan: SparkPlan, by: FileSourceScanExec): SparkPlan = plan.transformUp { case found if found eq scan => by }
}

object LimitedScan {

  /** The scan below a limit's child, or the reason why the limit cannot be decided at a scan. */
  def below(plan: SparkPlan): Either[Reason, LimitedScan] = plan match {
    case scan: FileSourceScanExec => Right(LimitedScan(scan, Nil, AttributeMap(scan.output.map(a => a -> a))))
    case node @ (_: FilterExec | _: ProjectExec) if !node.expressions.forall(_.deterministic) =>
      Left(Reason(ReasonCode.LimitNonDeterministic))
    case node @ (_: FilterExec | _: ProjectExec) if mayFail(node) => Left(Reason(ReasonCode.LimitMayFail))
    case FilterExec(condition, child)   => below(child).map(found => found.copy(conditions = found.conditions :+ onScan(condition, found)))
    case ProjectExec(projection, child) => below(child).map { found =>
        val copies = projection.collect {
          case column: Attribute                   => column.toAttribute -> column
          case alias @ Alias(column: Attribute, _) => alias.toAttribute -> column
        }
        found.copy(sources = AttributeMap(copies.flatMap { case (output, column) => found.sources.get(column).map(output -> _) }))
      }
    case _: LeafExecNode => Left(Reason(ReasonCode.LimitSource))
    case _               => Left(Reason(ReasonCode.LimitOperatorBelow))
  }

  /** Whether a row that Spark would not have read may fail the query. A user's function in a filter is taken not to fail. */
  private def mayFail(node: SparkPlan): Boolean = node match {
    case FilterExec(condition, _) => !Total(condition.transformDown { case udf: ScalaUDF => Literal.create(null, udf.dataType) })
    case other                    => !other.expressions.forall(Total(_))
  }

  /** A computed column may have the name of one of the scan's columns, or even its id. To put in what it computes would repeat that for each
    * mention, and through many projections without end.
    */
  private def onScan(condition: Expression, found: LimitedScan): Expression = condition.transform { case column: Attribute =>
    found.sources.getOrElse(column, column.newInstance())
  }
}
