package io.aqeplugin.storage

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.hadoop.hive.common.`type`.HiveDecimal
import org.apache.orc._
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.types.{DecimalType, StructField, StructType}

/** Reads the row count and the bounds of columns from the tail of an ORC file. */
private[storage] object OrcFooter {

  /** The row count, the ranges of integers, dates, times and decimals, and the bounds of texts in the whole file; throws any exception of the file system. */
  def summary(file: FileStatus, conf: Configuration, schema: StructType): FooterSummary = opened(file, conf) { reader =>
    val columns =
      schema.flatMap(field => KeyedOrcFormat.columnOf(reader.getSchema, field.name).filter(_._1 == field.dataType).map(field.name -> _._2))
    // Each call reads those of all columns.
    val statistics = reader.getStatistics
    val scales = schema.collect { case StructField(name, decimal: DecimalType, _, _) => name -> decimal.scale }.toMap
    FooterSummary(
      reader.getNumberOfRows,
      columns.map { case (name, id) => name -> range(statistics(id), scales.getOrElse(name, 0)).filter(r => r._1 <= r._2) }.toMap,
      texts = columns.map { case (name, id) => name -> statistics(id) }.collect { case (name, texts: StringColumnStatistics) =>
        name -> Seq(for (low <- Option(texts.getLowerBound); high <- Option(texts.getUpperBound)) yield TextBounds.kept(low, high))
      }.toMap
    )
  }

  /** The row count; throws any exception of the file system. */
  def facts(file: FileStatus, conf: Configuration, columns: Seq[FileColumn]): FooterFacts =
    FooterFacts(opened(file, conf)(_.getNumberOfRows), columns.map(_ -> None).toMap)

  private def range(statistics: ColumnStatistics, scale: Int): Option[(Long, Long)] = statistics match {
    case _ if statistics.getNumberOfValues <= 0 => None
    case numbers: IntegerColumnStatistics       => Some((numbers.getMinimum, numbers.getMaximum))
    case dates: DateColumnStatistics            => Some((dates.getMinimumDayOfEpoch, dates.getMaximumDayOfEpoch))
    case times: TimestampColumnStatistics       =>
      for (low <- Option(times.getMinimum); high <- Option(times.getMaximum))
        yield (DateTimeUtils.fromJavaTimestamp(low), DateTimeUtils.fromJavaTimestamp(high))
    case decimals: DecimalColumnStatistics =>
      for (low <- unscaled(decimals.getMinimum, scale); high <- unscaled(decimals.getMaximum, scale)) yield (low, high)
    case _ => None
  }

  private def unscaled(decimal: HiveDecimal, scale: Int): Option[Long] =
    Try(decimal.bigDecimalValue.setScale(scale).unscaledValue.longValueExact).toOption

  private def opened[A](file: FileStatus, conf: Configuration)(read: Reader => A): A = {
    val path = file.getPath
    val reader = OrcFile.createReader(path, OrcFile.readerOptions(conf).filesystem(path.getFileSystem(conf)).maxLength(file.getLen))
    try read(reader)
    finally reader.close()
  }
}
