package io.aqeplugin.storage

import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.catalyst.expressions.{Attribute, DynamicPruningExpression, Expression}
import org.apache.spark.sql.catalyst.plans.logical.RowLevelWrite
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering
import org.apache.spark.sql.execution.{InSubqueryExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation}

import io.aqeplugin.observe.{Executions, TableStatistics}

/** Sources of Spark's second interface that filter themselves at run time, such as Iceberg: the keys become one of the runtime filters by which
  * Spark prunes them, on columns that the source itself names. Spark takes an `IN` list only, no range.
  *
  * Such a source leaves out for good what it was asked to leave out, whoever reads it next. So a scan gets keys only if the whole query, with
  * its subqueries, has it in one place; and never if it finds the rows that a command changes, because the command writes those again
  * that were read. Neither does a scan whose plan relies on partitions that it would no longer have (`ThisSparkLine.keepsPartitions`).
  */
private[storage] object BatchScanKeys extends KeyedFormat {

  /** Whether the source can leave out something by the values of a column. */
  def filters(scan: SparkPlan, column: Attribute): Boolean = scan match {
    case batch: BatchScanExec => batch.scan match {
        case source: SupportsRuntimeV2Filtering =>
          source.filterAttributes.exists(_.fieldNames match {
            case Array(name) => batch.conf.resolver(name, column.name)
            case _           => false
          }) && ThisSparkLine.keepsPartitions(batch)
        case _ => false
      }
    case _ => false
  }

  /** Whether all rows that do not fulfil a runtime filter lie in other partitions of Iceberg's table. */
  def isOfWholePartitions(batch: BatchScanExec, filter: Expression): Boolean = filter match {
    // Spark gives a source nothing that is computed.
    case DynamicPruningExpression(in: InSubqueryExec) =>
      in.child match {
        case column: Attribute => IcebergRead.of(batch.scan).exists(_.isPartitionedBy(column.name))
        case _                 => false
      }
    case _ => false
  }

  override def narrowed(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Option[SparkPlan] = scan match {
    case batch: BatchScanExec => asked(batch, keys).filter(_ => isAlone(batch))
    case _                    => None
  }

  /** The scan, if nobody else has its source, with the keys as a runtime filter. */
  def asked(batch: BatchScanExec, keys: KnownKeys): Option[BatchScanExec] =
    keys.isListedAtRunTime.filter(_ => filters(batch, keys.column) && IcebergColumns.hasOneMeaning(batch.scan, keys.column.name))
      .map(filter => KeyedFormat.linked(batch, ThisSparkLine.withRuntimeFilters(batch, batch.runtimeFilters :+ filter)))

  // Cached tables are not in the plan of the query, so the scans below them get no keys.
  private def isAlone(scan: BatchScanExec): Boolean =
    Executions.idOf(scan.session.sparkContext).flatMap(Executions.optimizedPlan).exists { plan =>
      val uses = plan.collectWithSubqueries { case relation: DataSourceV2ScanRelation if relation.scan eq scan.scan => relation }
      uses.size == 1 && !plan.exists(_.isInstanceOf[RowLevelWrite])
    }
}
