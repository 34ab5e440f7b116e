package io.aqeplugin.storage

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.sources
import org.apache.spark.sql.types.{DateType, IntegerType, LongType}

import io.aqeplugin.observe.TableStatistics

/** Stripes and row groups of ORC files: the reader skips those whose statistics exclude all keys. Whole numbers and dates only: of times, texts and
  * decimals, the statistics are in other units, bytes or scales than Spark's values.
  */
private[aqeplugin] object OrcKeys extends KeyedFormat {

  override def narrowed(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Option[SparkPlan] = scan match {
    case file: FileSourceScanExec if isRead(file, keys.column) =>
      conditions(file, keys, tables).map(FormatByTypes.reading(file, KeyedOrcFormat.Empty, _, keys.column))
    case _ => None
  }

  private def isRead(scan: FileSourceScanExec, column: Attribute): Boolean = {
    val isOrc = FormatByTypes.plain(scan.relation.fileFormat).getClass == classOf[OrcFileFormat]
    val isCompared = column.dataType match {
      case IntegerType | LongType | DateType => true
      case _                                 => false
    }
    isOrc && isCompared && KeyFilters.isPlain(column.name) && scan.conf.orcFilterPushDown &&
    !PartitionRange.isPartition(scan, column) && scan.relation.dataSchema.exists(_.name == column.name) &&
    !ParquetKeys.skipsDamage(scan.relation)
  }

  private def conditions(scan: FileSourceScanExec, keys: KnownKeys, tables: TableStatistics): Option[Seq[sources.Filter]] =
    ParquetKeys.listed(scan, keys, tables).map(values => Seq(KeyFilters.listed(values, keys.column.name)))
      .orElse(Option.when(!keys.areTexts && ParquetKeys.leavesOutEnough(scan, keys, tables))(KeyFilters.outsideGaps(keys)))
      .filter(_.nonEmpty)
}
