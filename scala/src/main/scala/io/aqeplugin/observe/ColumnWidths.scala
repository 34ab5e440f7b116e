package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.{Attribute, ExprId}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/** The width of the rows of operators that have not run.
  *
  * Of a column of variable width, such as a string, it is what a finished shuffle below measured, or the average length that `ANALYZE TABLE … FOR
  * COLUMNS` left in the catalog; else the default width of its type.
  */
final class ColumnWidths(tables: TableStatistics) {
  private val ofPlans = ByIdentity.empty[SparkPlan, Long]
  private val ofLeaves = ByIdentity.empty[SparkPlan, Map[ExprId, Long]]

  /** Bytes of an average row of `plan` in memory. */
  def rowBytes(plan: SparkPlan): Long = ofPlans.getOrElseUpdate(plan, computed(plan))

  private def computed(plan: SparkPlan): Long =
    if (plan.output.forall(isFixed)) RowWidth.ofRow(plan.output)
    else {
      val known = leaves(plan).map(leaf => ofLeaves.getOrElseUpdate(leaf, ofLeaf(leaf)))
      RowWidth.ofRow(plan.output, column => known.iterator.flatMap(_.get(column.exprId)).nextOption())
    }

  private def leaves(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case stage: QueryStageExec if !stage.isMaterialized => leaves(stage.plan)
    case stage: QueryStageExec                          => Seq(stage)
    case reused: ReusedExchangeExec                     => leaves(reused.child)
    case leaf if leaf.children.isEmpty                  => Seq(leaf)
    case StartedFilters(_, scan)                        => leaves(scan)
    case other                                          => other.children.flatMap(leaves)
  }

  private def ofLeaf(leaf: SparkPlan): Map[ExprId, Long] = leaf match {
    case stage: QueryStageExec =>
      StageReader.rows(stage).flatMap(RowWidth.ofVariableColumn(stage, _))
        .fold(Map.empty[ExprId, Long])(bytes => stage.output.filterNot(isFixed).map(_.exprId -> bytes).toMap)
    case scan: FileSourceScanExec =>
      val statistics = tables.of(scan).flatMap(_.analyzed).fold(Map.empty[String, Long])(_.colStats.flatMap { case (name, column) =>
        column.avgLen.map(name -> _)
      })
      scan.output.filterNot(isFixed).flatMap(column => statistics.get(column.name).map(column.exprId -> RowWidth.ofValue(_))).toMap
    case _ => Map.empty
  }

  private def isFixed(column: Attribute): Boolean = RowWidth.isFixed(column.dataType)
}
