package io.aqeplugin.storage

import java.time.{LocalDate, ZoneOffset}
import java.util.concurrent.TimeUnit

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.sources
import org.apache.spark.sql.types.{DateType, DecimalType, IntegerType, LongType, StringType, TimestampType}

import io.aqeplugin.decide.{Reason, ReasonCode}
import io.aqeplugin.observe.TableStatistics

/** Stripes and row groups of ORC files: the reader skips those whose statistics exclude all keys.
  *
  *   - Texts: where all keys are ASCII. ORC compares others in another order than Spark.
  *   - Decimals and times by ranges alone. ORC's Bloom filters have decimals as text, with or without zeros at their end.
  *   - Times from 1900 on, by wide ranges. The statistics have them as local times, of which an hour may come twice, or before and after a
  *     change of the zone; and before that, by another calendar.
  *   - No times without a zone, no integers of less than four bytes: Spark's readers convert them.
  */
private[aqeplugin] object OrcKeys extends KeyedFormat {

  /** Since 1900, no two zones, nor one before and after a change, differ by more. */
  private val ZoneMicros = TimeUnit.HOURS.toMicros(26)

  private val Since1900Micros = TimeUnit.SECONDS.toMicros(LocalDate.of(1900, 1, 3).atStartOfDay(ZoneOffset.UTC).toEpochSecond)

  override def narrowed(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Option[SparkPlan] = scan match {
    case file: FileSourceScanExec if isRead(file, keys) =>
      conditions(file, keys, tables).map(FormatByTypes.reading(file, KeyedOrcFormat.Empty, _, keys.column))
    case _ => None
  }

  override def whyNothing(scan: SparkPlan, keys: KnownKeys): Option[Reason] = scan match {
    case file: FileSourceScanExec if isOrc(file) && keys.areTexts && keys.literals.isDefined && !keys.areAscii =>
      Some(Reason(ReasonCode.TextOrder))
    case _ => None
  }

  private def isOrc(scan: FileSourceScanExec): Boolean = FormatByTypes.plain(scan.relation.fileFormat).getClass == classOf[OrcFileFormat]

  private def isRead(scan: FileSourceScanExec, keys: KnownKeys): Boolean =
    isRead(scan, keys.column) && (areWholes(keys.column) || keys.areAscii)

  /** Whether files without a key may be left out by their footers, as far as the column and the conf tell. */
  def usesBounds(scan: FileSourceScanExec, column: Attribute): Boolean =
    isRead(scan, column) && (areWholes(column) || column.dataType == StringType)

  private def areWholes(column: Attribute): Boolean = column.dataType match {
    case IntegerType | LongType | DateType | TimestampType | _: DecimalType => true
    case _                                                                  => false
  }

  private def isRead(scan: FileSourceScanExec, column: Attribute): Boolean =
    isOrc(scan) && KeyFilters.isPlain(column.name) && scan.conf.orcFilterPushDown &&
      !PartitionRange.isPartition(scan, column) && scan.relation.dataSchema.exists(_.name == column.name) &&
      !ParquetKeys.skipsDamage(scan.relation)

  private def conditions(scan: FileSourceScanExec, keys: KnownKeys, tables: TableStatistics): Option[Seq[sources.Filter]] = {
    def inRanges(keys: KnownKeys) = Option.when(ParquetKeys.leavesOutEnough(scan, keys, tables))(KeyFilters.outsideGaps(keys))
    val found = keys.column.dataType match {
      case _: DecimalType => inRanges(keys)
      case TimestampType  =>
        if (keys.built.ranges.exists(_._1 < Since1900Micros)) None
        else inRanges(keys.copy(built = keys.built.copy(ranges = keys.built.ranges.map(wider))))
      case _ =>
        ParquetKeys.listed(scan, keys, tables).map(values => Seq(KeyFilters.listed(values, keys.column.name)))
          .orElse(if (keys.areTexts) None else inRanges(keys))
    }
    found.filter(_.nonEmpty)
  }

  private def wider(range: (Long, Long)): (Long, Long) =
    (math.max(range._1, Long.MinValue + ZoneMicros) - ZoneMicros, math.min(range._2, Long.MaxValue - ZoneMicros) + ZoneMicros)
}
