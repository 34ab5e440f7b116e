package io.aqeplugin.storage

import java.security.PrivilegedExceptionAction
import java.util.{Collections, LinkedHashMap, Map => JavaMap}
import java.util.concurrent.{ArrayBlockingQueue, CompletableFuture, Executor, ThreadPoolExecutor, TimeUnit, TimeoutException}

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.hadoop.security.UserGroupInformation
import org.apache.parquet.hadoop.metadata.BlockMetaData
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, InMemoryFileIndex}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat

import io.aqeplugin.exec.DaemonThreads
import io.aqeplugin.observe.{TableFacts, TableStatistics}

/** Row counts and column ranges from the footers of a few Parquet files of a table.
  *
  * The calling rule runs while a query is planned, so the work is bounded: at most [[FooterStatistics.MaxFooters]] files, spread evenly
  * over the table, are read by separate threads. No caller waits longer than [[FooterStatistics.MaxMillis]] after the reads have begun,
  * however slow the storage is. The facts are kept as long as the table's list of files is unchanged, so facts that come too late serve the
  * next query. Reads that failed, for lack of a thread or of a permission, are tried again by the next query, which may be another user's.
  *
  * @param rowGroups
  *   reads a file's footer with the query's conf
  * @param readers
  *   the threads that read; may reject
  */
class FooterStatistics private[storage] (rowGroups: (FileStatus, Configuration) => Seq[BlockMetaData], readers: Executor)
    extends TableStatistics {
  import FooterStatistics.{MaxFooters, MaxTables, MinTableBytes, Reading, Snapshot}

  private val known: JavaMap[Snapshot, Reading] =
    Collections.synchronizedMap(new LinkedHashMap[Snapshot, Reading](16, 0.75f, true) {
      override def removeEldestEntry(eldest: JavaMap.Entry[Snapshot, Reading]): Boolean = size > MaxTables
    })

  /** Starts to read the footers of the scanned table, unless that has begun. It is called for all tables of a plan before facts are
    * requested, so that a plan waits for its slowest table and not for each in turn.
    */
  def begin(scan: FileSourceScanExec): Unit = { val _ = reading(scan) }

  override def of(scan: FileSourceScanExec): Option[TableFacts] = reading(scan).flatMap(_.await())

  private def reading(scan: FileSourceScanExec): Option[Reading] = (scan.relation.fileFormat, scan.relation.location) match {
    case (_: ParquetFileFormat, index: InMemoryFileIndex) if index.sizeInBytes >= MinTableBytes =>
      val files = index.allFiles()
      val snapshot =
        Snapshot(index.rootPaths.map(_.toString), files.size, index.sizeInBytes, files.map(_.getModificationTime).maxOption.getOrElse(0L))
      val fresh = new Reading
      val earlier = Option(known.putIfAbsent(snapshot, fresh))
      if (earlier.isEmpty) start(fresh, snapshot, files, scan.relation)
      Some(earlier.getOrElse(fresh))
    case _ => None
  }

  private def start(reading: Reading, snapshot: Snapshot, files: Seq[FileStatus], relation: HadoopFsRelation): Unit = {
    def end(facts: Option[TableFacts]): Unit = {
      if (facts.isEmpty) { val _ = known.remove(snapshot, reading) }
      reading.end(facts)
    }
    try {
      // With the conf with which the query will open the files: its user may not be the driver's, and a read may have credentials of its
      // own.
      val user = UserGroupInformation.getCurrentUser
      val conf = relation.sparkSession.sessionState.newHadoopConfWithOptions(relation.options)
      val sampled = spread(files.filter(_.getLen > 0))
      val footers = sampled.map { file =>
        val read: PrivilegedExceptionAction[Seq[BlockMetaData]] = () => rowGroups(file, conf)
        CompletableFuture.supplyAsync[Seq[BlockMetaData]](() => if (reading.isEnded) Nil else user.doAs(read), readers)
      }
      val _ = CompletableFuture
        .allOf(footers: _*)
        .thenApply[Option[TableFacts]](_ => facts(sampled, footers.flatMap(_.join()), files.map(_.getLen).sum))
        // A file that cannot be read fails the query only when the query itself reads it.
        .whenComplete((found, _) => end(Option(found).flatten))
    } catch {
      case NonFatal(_) => end(None)
    }
  }

  /** Facts of the whole table; none when it has no rows. */
  private def facts(sampled: Seq[FileStatus], rowGroups: Seq[BlockMetaData], totalBytes: Long): Option[TableFacts] = {
    val sampledBytes = sampled.map(_.getLen).sum
    if (sampledBytes == 0) None
    else Some(TableFacts((rowGroups.map(_.getRowCount).sum.toDouble / sampledBytes * totalBytes).toLong, ParquetFooter.ranges(rowGroups)))
  }

  private def spread(files: Seq[FileStatus]): Seq[FileStatus] =
    if (files.size <= MaxFooters) files else (0 until MaxFooters).map(i => files((i.toLong * (files.size - 1) / (MaxFooters - 1)).toInt))
}

/** The footers, shared by all sessions of the application. */
object FooterStatistics extends FooterStatistics(ParquetFooter.rowGroups, FooterThreads.pool) {
  private val MaxFooters = 12
  private val MaxMillis = 300L
  private val MinTableBytes = 4L << 20
  private val MaxTables = 256

  /** A state of a table: its folders, number of files and bytes, and the newest file's time. */
  private final case class Snapshot(roots: Seq[String], files: Int, bytes: Long, newestMillis: Long)

  /** A table whose footers are being read or have been read. */
  private final class Reading {
    private val facts = new CompletableFuture[Option[TableFacts]]()
    private val deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(MaxMillis)

    def end(found: Option[TableFacts]): Unit = { val _ = facts.complete(found) }
    def isEnded: Boolean = facts.isDone

    def await(): Option[TableFacts] =
      try facts.get(math.max(0L, deadlineNanos - System.nanoTime()), TimeUnit.NANOSECONDS)
      catch { case _: TimeoutException => None }
  }
}

/** The threads that read footers. A storage that hangs blocks all of them and then fills the queue; further files are not read. */
private[storage] object FooterThreads {
  private val Threads = 8
  private val QueuedFiles = 256
  private val IdleSeconds = 10L

  val pool: Executor = {
    val queue = new ArrayBlockingQueue[Runnable](QueuedFiles)
    val pool = new ThreadPoolExecutor(Threads, Threads, IdleSeconds, TimeUnit.SECONDS, queue, DaemonThreads.factory("aqe-plugin-footers"))
    pool.allowCoreThreadTimeOut(true)
    pool
  }
}
