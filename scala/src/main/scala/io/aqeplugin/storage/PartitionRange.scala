package io.aqeplugin.storage

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Attribute, DynamicPruning}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}

/** The values of a partition column. */
object PartitionRange {

  def isPartition(scan: SparkPlan, column: Attribute): Boolean = scan match {
    case file: FileSourceScanExec => file.relation.partitionSchema.exists(field => file.conf.resolver(field.name, column.name))
    case _                        => false
  }

  /** Smallest and largest value of an ordered partition column over the partitions that a scan reads; none for any other column.
    *
    * Lists the partitions as the scan itself would.
    */
  def of(scan: SparkPlan, column: Attribute): Option[(Long, Long)] = scan match {
    case file: FileSourceScanExec if ConditionRanges.isOrdered(column.dataType) =>
      val schema = file.relation.partitionSchema
      schema.fieldNames.indices.find(i => file.conf.resolver(schema.fieldNames(i), column.name)).flatMap { ordinal =>
        val known = file.partitionFilters.filterNot(_.exists { case _: DynamicPruning => true; case _ => false })
        // A catalog may reject a condition; the scan will tell.
        val partitions = Try(file.relation.location.listFiles(known, Nil)).getOrElse(Nil)
        val values = partitions.map(_.values).filterNot(_.isNullAt(ordinal)).flatMap { values =>
          ConditionRanges.constantRange(values.get(ordinal, schema(ordinal).dataType)).flatMap(_.range)
        }
        Option.when(values.nonEmpty)((values.map(_._1).min, values.map(_._2).max))
      }
    case _ => None
  }
}
