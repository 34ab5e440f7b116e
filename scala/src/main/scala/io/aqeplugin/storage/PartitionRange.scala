package io.aqeplugin.storage

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, InMemoryFileIndex}

/** The values of a partition column. */
object PartitionRange {

  def isPartition(scan: SparkPlan, column: Attribute): Boolean = scan match {
    case file: FileSourceScanExec => file.relation.partitionSchema.exists(field => file.conf.resolver(field.name, column.name))
    case other                    => HiveScan.of(other).exists(_.isPartition(column))
  }

  /** Smallest and largest value of an ordered partition column over the partitions that a scan reads; none for any other column.
    *
    * Finds the partitions as the scan itself would, without a look at their files: EXPLAIN and planning ask too.
    */
  def of(scan: SparkPlan, column: Attribute): Option[(Long, Long)] = scan match {
    case file: FileSourceScanExec if ConditionRanges.isOrdered(column.dataType) =>
      val schema = file.relation.partitionSchema
      schema.fieldNames.indices.find(i => file.conf.resolver(schema.fieldNames(i), column.name)).flatMap { ordinal =>
        // A catalog may reject a condition; the scan will tell.
        val selected = Try(valuesOf(file, SelectedFiles.conditions(file))).getOrElse(Nil)
        val values = selected.filterNot(_.isNullAt(ordinal)).flatMap { values =>
          ConditionRanges.constantRange(values.get(ordinal, schema(ordinal).dataType)).flatMap(_.range)
        }
        Option.when(values.nonEmpty)((values.map(_._1).min, values.map(_._2).max))
      }
    case _ => None
  }

  private def valuesOf(scan: FileSourceScanExec, conditions: Seq[Expression]): Seq[InternalRow] = scan.relation.location match {
    case known: InMemoryFileIndex => IndexedPartitions.values(known, conditions)
    case kept: CatalogFileIndex   =>
      val catalog = scan.relation.sparkSession.sessionState.catalog
      ExternalCatalogUtils.listPartitionsByFilter(scan.conf, catalog, kept.table, conditions)
        .map(_.toRow(kept.partitionSchema, scan.conf.sessionLocalTimeZone))
    case other => other.listFiles(conditions, Nil).map(_.values)
  }
}
