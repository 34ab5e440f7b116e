package io.aqeplugin.storage

import java.security.PrivilegedExceptionAction
import java.util.{Collections, LinkedHashMap, Map => JavaMap}
import java.util.concurrent.{CompletableFuture, TimeUnit, TimeoutException}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.hadoop.security.UserGroupInformation
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat

import io.aqeplugin.exec.DaemonThreads
import io.aqeplugin.observe.{TableFacts, TableStatistics}

/** Row counts and column ranges from the footers of a few Parquet files of a table.
  *
  * The rule that asks runs while a query is planned, so this is bounded: at most [[MaxFooters]] files, spread evenly over the table, read by
  * threads of their own, for which nobody waits longer than [[MaxMillis]] after they have begun, however slow the storage is. What was read is
  * kept for as long as the table's list of files stays the same; what comes too late serves the next query.
  */
object FooterStatistics extends TableStatistics {
  private val MaxFooters = 12
  private val MaxMillis = 300L
  private val MinTableBytes = 4L << 20
  private val MaxTables = 256
  private val Threads = 8

  /** A table as it stood: its folders, number of files and bytes, and the newest file's time. */
  private final case class Snapshot(roots: Seq[String], files: Int, bytes: Long, newestMillis: Long)

  /** A table whose footers are being read, or have been. */
  private final class Reading(facts: CompletableFuture[Option[TableFacts]]) {
    private val deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(MaxMillis)

    def await(): Option[TableFacts] =
      try facts.get(math.max(0L, deadlineNanos - System.nanoTime()), TimeUnit.NANOSECONDS)
      catch { case _: TimeoutException => None }
  }

  private val known: JavaMap[Snapshot, Reading] =
    Collections.synchronizedMap(new LinkedHashMap[Snapshot, Reading](16, 0.75f, true) {
      override def removeEldestEntry(eldest: JavaMap.Entry[Snapshot, Reading]): Boolean = size > MaxTables
    })

  private lazy val readers = DaemonThreads.pool("aqe-plugin-footers", Threads)

  /** Starts to read the footers of the scanned table, if that was not done yet. Called for all tables of a plan before the first is asked for,
    * so that a plan waits for its slowest table and not for each in turn.
    */
  def begin(scan: FileSourceScanExec): Unit = { val _ = reading(scan) }

  override def of(scan: FileSourceScanExec): Option[TableFacts] = reading(scan).flatMap(_.await())

  private def reading(scan: FileSourceScanExec): Option[Reading] = (scan.relation.fileFormat, scan.relation.location) match {
    case (_: ParquetFileFormat, index: InMemoryFileIndex) if index.sizeInBytes >= MinTableBytes =>
      val files = index.allFiles()
      val snapshot =
        Snapshot(index.rootPaths.map(_.toString), files.size, index.sizeInBytes, files.map(_.getModificationTime).maxOption.getOrElse(0L))
      Some(known.computeIfAbsent(snapshot, _ => read(files, scan.relation.sparkSession.sessionState.newHadoopConf())))
    case _ => None
  }

  private def read(files: Seq[FileStatus], conf: Configuration): Reading = {
    // The files are opened as the user whose query it is, who may be another than the driver's.
    val user = UserGroupInformation.getCurrentUser
    val sampled = spread(files.filter(_.getLen > 0))
    val footers = sampled.map { file =>
      CompletableFuture.supplyAsync[Option[Seq[BlockMetaData]]](() => blocks(file, conf, user), readers)
    }
    val totalBytes = files.map(_.getLen).sum
    new Reading(CompletableFuture.allOf(footers: _*).thenApply(_ => facts(sampled, footers.map(_.join()), totalBytes)))
  }

  /** Facts of the whole table; none when one of the sampled files could not be read. */
  private def facts(sampled: Seq[FileStatus], footers: Seq[Option[Seq[BlockMetaData]]], totalBytes: Long): Option[TableFacts] = {
    val blocks = footers.flatten.flatten
    val sampledBytes = sampled.map(_.getLen).sum
    if (sampledBytes == 0 || footers.exists(_.isEmpty)) None
    else Some(TableFacts((blocks.map(_.getRowCount).sum.toDouble / sampledBytes * totalBytes).toLong, ranges(blocks)))
  }

  private def spread(files: Seq[FileStatus]): Seq[FileStatus] =
    if (files.size <= MaxFooters) files else (0 until MaxFooters).map(i => files((i.toLong * (files.size - 1) / (MaxFooters - 1)).toInt))

  private def blocks(file: FileStatus, conf: Configuration, user: UserGroupInformation): Option[Seq[BlockMetaData]] =
    try Some(user.doAs((() => footer(file, conf)): PrivilegedExceptionAction[Seq[BlockMetaData]]))
    catch {
      // A file that cannot be read fails the query when the query reads it, not here.
      case NonFatal(_) => None
    }

  private def footer(file: FileStatus, conf: Configuration): Seq[BlockMetaData] = {
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
