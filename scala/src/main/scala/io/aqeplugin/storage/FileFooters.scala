package io.aqeplugin.storage

import java.security.PrivilegedExceptionAction
import java.util.{Collections, LinkedHashMap, Map => JavaMap}
import java.util.concurrent.{CompletableFuture, Executor, RejectedExecutionException, TimeUnit, TimeoutException}

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.sql.types.DataType

/** A column of a file, as a query reads it. */
final case class FileColumn(name: String, dataType: DataType)

/** The values of one column of a file.
  *
  * @param range
  *   bounds of the values that are not null, both included; none when every value is null
  * @param nulls
  *   the number of nulls; none when it is unknown
  */
final case class ColumnFacts(range: Option[(Long, Long)], nulls: Option[Long])

/** What a footer says of its file.
  *
  * @param columns
  *   the columns that were asked for; none for a column whose statistics are missing or not trusted
  */
final case class FooterFacts(rows: Long, columns: Map[FileColumn, Option[ColumnFacts]])

/** The exact row counts and column ranges of single files, from their footers.
  *
  * Footers are kept by path, length and time of modification. A file that cannot be read is unknown, and the next query tries it again; the
  * query itself fails only when its own reader meets the fault.
  *
  * @param read
  *   reads a footer with the query's conf
  * @param readers
  *   the threads that read; may reject
  */
class FileFooters private[storage] (read: (FileStatus, Configuration, Seq[FileColumn]) => FooterFacts, readers: Executor) {
  import FileFooters.{FileKey, MaxFiles}

  private val known: JavaMap[FileKey, FooterFacts] =
    Collections.synchronizedMap(new LinkedHashMap[FileKey, FooterFacts](16, 0.75f, true) {
      override def removeEldestEntry(eldest: JavaMap.Entry[FileKey, FooterFacts]): Boolean = size > MaxFiles
    })

  /** The known footer of a file, if it has all the columns. */
  def get(file: FileStatus, columns: Seq[FileColumn]): Option[FooterFacts] =
    Option(known.get(FileKey.of(file))).filter(facts => columns.forall(facts.columns.contains))

  /** Reads the footers of the files concurrently, and returns when all are read or the time is over. */
  def load(files: Seq[FileStatus], columns: Seq[FileColumn], conf: Configuration, deadlineNanos: Long): Unit = {
    val user = UserGroupInformation.getCurrentUser
    def late: Boolean = System.nanoTime() > deadlineNanos
    val reads = files.filter(get(_, columns).isEmpty).map { file =>
      val action: PrivilegedExceptionAction[FooterFacts] = () => read(file, conf, columns)
      try
        CompletableFuture.runAsync(
          () =>
            if (!late)
              try keep(file, user.doAs(action))
              catch { case NonFatal(_) | (_: LinkageError) => () },
          readers
        )
      catch { case _: RejectedExecutionException => CompletableFuture.completedFuture[Void](null) }
    }
    val waitNanos = math.max(0L, deadlineNanos - System.nanoTime())
    try { val _ = CompletableFuture.allOf(reads: _*).get(waitNanos, TimeUnit.NANOSECONDS) }
    catch { case _: TimeoutException => () }
  }

  private def keep(file: FileStatus, facts: FooterFacts): Unit = {
    val key = FileKey.of(file)
    val earlier = Option(known.get(key)).fold(Map.empty[FileColumn, Option[ColumnFacts]])(_.columns)
    val _ = known.put(key, facts.copy(columns = earlier ++ facts.columns))
  }
}

/** The footers of one query. */
object FileFooters {
  private val MaxFiles = 20000

  def of(isParquet: Boolean): FileFooters =
    if (isParquet) new FileFooters(ParquetFooter.facts, FooterThreads.pool) else new FileFooters(OrcFooter.facts, FooterThreads.pool)

  private final case class FileKey(path: String, bytes: Long, modifiedMillis: Long)

  private object FileKey {
    def of(file: FileStatus): FileKey = FileKey(file.getPath.toString, file.getLen, file.getModificationTime)
  }
}
