package io.aqeplugin.storage

import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.expressions.{Alias, InputFileName, MonotonicallyIncreasingID, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.MergeRows
import org.apache.spark.sql.execution.{FileSourceScanExec, FilterExec, ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/** The rows in which a MERGE looks for matches, as Spark and Delta read them: each has a number, by which the command sees that two rows of its
  * source match it, and in Delta the name of its file.
  *
  * No key goes through a number of anybody else, and of these a filter is above: a task that runs again without it, because of a fault, would give
  * its rows other numbers than those that other tasks have seen. The scan below may leave out what it likes, as it reads the same rows in each run
  * of a task; all numbers stay unique.
  */
object NumberedRows {

  /** The scan below the numbers of a command; none for any other plan. */
  def scanOf(plan: SparkPlan): Option[SparkPlan] = plan match {
    case ProjectExec(columns, below) if columns.exists(!_.deterministic) => scanBelow(below, added(columns))
    case _                                                               => None
  }

  /** What a plan that may get a filter reads: the scan below the numbers of a command, or else the plan itself. */
  def readBy(plan: SparkPlan): SparkPlan = scanOf(plan).getOrElse(plan)

  private def added(columns: Seq[NamedExpression]): Seq[NamedExpression] = columns.filterNot(_.deterministic)

  private def scanBelow(plan: SparkPlan, numbers: Seq[NamedExpression]): Option[SparkPlan] = plan match {
    case ProjectExec(columns, below)                             => scanBelow(below, numbers ++ added(columns))
    case FilterExec(condition, below) if condition.deterministic => scanBelow(below, numbers)
    case scan                                                    => Some(scan).filter(_ => numbers.forall(isOwn(scan, _)))
  }

  /** Only a command reads such a table, or such a list of files. */
  private def isOwn(scan: SparkPlan, number: NamedExpression): Boolean = (scan, number) match {
    case (batch: BatchScanExec, Alias(_: MonotonicallyIncreasingID, MergeRows.ROW_ID)) => SparkBridge.changedTable(batch.table).isDefined
    case (file: FileSourceScanExec, Alias(_: MonotonicallyIncreasingID, "_row_id_"))   => DeltaScan.isOfCommand(file)
    case (file: FileSourceScanExec, Alias(_: InputFileName, "_file_name_"))            => DeltaScan.isOfCommand(file)
    case _                                                                             => false
  }
}
