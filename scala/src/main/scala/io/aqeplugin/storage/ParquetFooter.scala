package io.aqeplugin.storage

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.hadoop.util.HadoopInputFile

/** Reads the row groups of a file from its footer. */
private[storage] object ParquetFooter {

  /** Opens the file; throws any exception of its file system. */
  def rowGroups(file: FileStatus, conf: Configuration): Seq[BlockMetaData] = {
    val reader = ParquetFileReader.open(HadoopInputFile.fromStatus(file, conf))
    try reader.getFooter.getBlocks.asScala.toSeq
    finally reader.close()
  }

  /** Smallest and largest value, by column name, of the integer and date columns that have them in every row group. */
  def ranges(rowGroups: Seq[BlockMetaData]): Map[String, (Long, Long)] =
    rowGroups
      .flatMap(_.getColumns.asScala)
      .groupBy(_.getPath.toDotString)
      .flatMap { case (column, chunks) =>
        val found = chunks.map(range)
        if (found.forall(_.isDefined)) Some(column -> ((found.flatten.map(_._1).min, found.flatten.map(_._2).max))) else None
      }

  private def range(chunk: ColumnChunkMetaData): Option[(Long, Long)] =
    Option(chunk.getStatistics).filter(_.hasNonNullValue).flatMap { statistics =>
      (statistics.genericGetMin: Any, statistics.genericGetMax: Any) match {
        case (min: Integer, max: Integer)               => Some((min.longValue, max.longValue))
        case (min: java.lang.Long, max: java.lang.Long) => Some((min.longValue, max.longValue))
        case _                                          => None
      }
    }
}
