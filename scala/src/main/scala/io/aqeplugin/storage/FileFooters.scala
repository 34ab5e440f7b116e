package io.aqeplugin.storage

import java.io.IOException
import java.util.concurrent.{CompletableFuture, ConcurrentHashMap, Executor, RejectedExecutionException, TimeUnit, TimeoutException}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.security.UserGroupInformation
import org.apache.parquet.crypto.ParquetCryptoRuntimeException
import org.apache.spark.sql.types.DataType

import io.aqeplugin.metrics.{Faults, Survivable}

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

/** What a footer surely says of its file.
  *
  * @param columns
  *   the columns that were asked for; none for a column whose statistics are missing or not trusted
  */
final case class FooterFacts(rows: Long, columns: Map[FileColumn, Option[ColumnFacts]])

/** The exact row counts and column ranges of a query's files, from their footers.
  *
  * A file that cannot be read is unknown; the query itself fails only when its own reader meets the fault.
  *
  * @param read
  *   reads a footer with the query's conf
  * @param readers
  *   the threads that read; may reject
  */
class FileFooters private[storage] (read: (FileStatus, Configuration, Seq[FileColumn]) => FooterFacts, readers: Executor) {
  private val known = new ConcurrentHashMap[Path, FooterFacts]()

  /** The known footer of a file, if it has all the columns. */
  def get(file: FileStatus, columns: Seq[FileColumn]): Option[FooterFacts] =
    Option(known.get(file.getPath)).filter(facts => columns.forall(facts.columns.contains))

  /** Reads the footers of the files concurrently, and returns when all are read or the time is over. */
  def load(files: Seq[FileStatus], columns: Seq[FileColumn], conf: Configuration, deadlineNanos: Long): Unit = {
    val reads = new UserReads(UserGroupInformation.getCurrentUser, conf, readers)
    def late: Boolean = System.nanoTime() > deadlineNanos
    val begun = files.filter(get(_, columns).isEmpty).flatMap { file =>
      try Some(reads.async {
          if (!late)
            try keep(file, read(file, conf, columns))
            catch {
              // A key that the user may not have is refused by one of these.
              case _: IOException | _: ParquetCryptoRuntimeException => ()
              case Survivable(error)                                 => Faults.note("footer read", "limits are left to Spark", error)
            }
        })
      catch {
        case _: RejectedExecutionException => None
        // A driver may not be able to start another thread.
        case error: OutOfMemoryError =>
          Faults.note("footer read", "limits are left to Spark", error)
          None
      }
    }
    val waitNanos = math.max(0L, deadlineNanos - System.nanoTime())
    try { val _ = CompletableFuture.allOf(begun: _*).get(waitNanos, TimeUnit.NANOSECONDS) }
    catch { case _: TimeoutException => () }
  }

  private def keep(file: FileStatus, facts: FooterFacts): Unit = {
    val _ = known.merge(file.getPath, facts, (earlier, later) => later.copy(columns = earlier.columns ++ later.columns))
  }
}

object FileFooters {
  def of(isParquet: Boolean): FileFooters =
    new FileFooters(if (isParquet) ParquetFooter.facts else OrcFooter.facts, FooterThreads.pool)
}
