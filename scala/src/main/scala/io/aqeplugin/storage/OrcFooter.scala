package io.aqeplugin.storage

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.orc.{ColumnStatistics, DateColumnStatistics, IntegerColumnStatistics, OrcFile, Reader}
import org.apache.spark.sql.types.StructType

/** Reads the row count and the ranges of columns from the tail of an ORC file. */
private[storage] object OrcFooter {

  /** The row count, and the ranges of integers and dates; throws any exception of the file system. */
  def summary(file: FileStatus, conf: Configuration, schema: StructType): FooterSummary = opened(file, conf) { reader =>
    val columns =
      schema.flatMap(field => KeyedOrcFormat.columnOf(reader.getSchema, field.name).filter(_._1 == field.dataType).map(field.name -> _._2))
    // Each call reads those of all columns.
    val statistics = reader.getStatistics
    FooterSummary(reader.getNumberOfRows, columns.map { case (name, id) => name -> range(statistics(id)).filter(r => r._1 <= r._2) }.toMap)
  }

  /** The row count; throws any exception of the file system. */
  def facts(file: FileStatus, conf: Configuration, columns: Seq[FileColumn]): FooterFacts =
    FooterFacts(opened(file, conf)(_.getNumberOfRows), columns.map(_ -> None).toMap)

  private def range(statistics: ColumnStatistics): Option[(Long, Long)] = statistics match {
    case _ if statistics.getNumberOfValues <= 0 => None
    case numbers: IntegerColumnStatistics       => Some((numbers.getMinimum, numbers.getMaximum))
    case dates: DateColumnStatistics            => Some((dates.getMinimumDayOfEpoch, dates.getMaximumDayOfEpoch))
    case _                                      => None
  }

  private def opened[A](file: FileStatus, conf: Configuration)(read: Reader => A): A = {
    val path = file.getPath
    val reader = OrcFile.createReader(path, OrcFile.readerOptions(conf).filesystem(path.getFileSystem(conf)).maxLength(file.getLen))
    try read(reader)
    finally reader.close()
  }
}
