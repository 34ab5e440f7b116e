package io.aqeplugin.storage

import java.util.{Collections, LinkedHashMap, Map => JavaMap}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat

import io.aqeplugin.observe.{TableFacts, TableStatistics}

/** Row counts and column ranges from the footers of a few Parquet files of a table.
  *
  * The rule that asks runs while a query is planned, so this is bounded: at most [[MaxFooters]] files, spread evenly over the table, and no new
  * one after [[MaxMillis]]. What was read is kept for as long as the table's list of files stays the same.
  */
object FooterStatistics extends TableStatistics {
  private val MaxFooters = 12
  private val MaxMillis = 150L
  private val MinTableBytes = 4L << 20
  private val MaxTables = 256

  /** A table as it stood: its folders, number of files and bytes, and the newest file's time. */
  private final case class Snapshot(roots: Seq[String], files: Int, bytes: Long, newestMillis: Long)

  private val known: JavaMap[Snapshot, Option[TableFacts]] =
    Collections.synchronizedMap(new LinkedHashMap[Snapshot, Option[TableFacts]](16, 0.75f, true) {
      override def removeEldestEntry(eldest: JavaMap.Entry[Snapshot, Option[TableFacts]]): Boolean = size > MaxTables
    })

  override def of(scan: FileSourceScanExec): Option[TableFacts] = (scan.relation.fileFormat, scan.relation.location) match {
    case (_: ParquetFileFormat, index: InMemoryFileIndex) if index.sizeInBytes >= MinTableBytes =>
      val files = index.allFiles()
      val snapshot =
        Snapshot(index.rootPaths.map(_.toString), files.size, index.sizeInBytes, files.map(_.getModificationTime).maxOption.getOrElse(0L))
      // Two threads may read the same footers at once; both get the same.
      Option(known.get(snapshot)).getOrElse {
        val read = facts(files, scan.relation.sparkSession.sessionState.newHadoopConf())
        val _ = known.put(snapshot, read)
        read
      }
    case _ => None
  }

  private def facts(files: Seq[FileStatus], conf: Configuration): Option[TableFacts] =
    try {
      val deadlineNanos = System.nanoTime() + MaxMillis * 1000000L
      val sampled =
        spread(files.filter(_.getLen > 0)).iterator.takeWhile(_ => System.nanoTime() < deadlineNanos).map(f => f -> blocks(f, conf)).toSeq
      val bytes = sampled.map(_._1.getLen).sum
      if (bytes == 0) None
      else {
        val rows = sampled.flatMap(_._2).map(_.getRowCount).sum
        Some(TableFacts((rows.toDouble / bytes * files.map(_.getLen).sum).toLong, ranges(sampled.flatMap(_._2))))
      }
    } catch {
      // A file that cannot be read fails the query when the query reads it, not here.
      case NonFatal(_) => None
    }

  private def spread(files: Seq[FileStatus]): Seq[FileStatus] =
    if (files.size <= MaxFooters) files else (0 until MaxFooters).map(i => files((i.toLong * (files.size - 1) / (MaxFooters - 1)).toInt))

  private def blocks(file: FileStatus, conf: Configuration): Seq[BlockMetaData] = {
    val reader = ParquetFileReader.open(HadoopInputFile.fromStatus(file, conf))
    try reader.getFooter.getBlocks.asScala.toSeq
    finally reader.close()
  }

  /** Ranges of the columns that have one in every row group. */
  private def ranges(blocks: Seq[BlockMetaData]): Map[String, (Long, Long)] =
    blocks
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
