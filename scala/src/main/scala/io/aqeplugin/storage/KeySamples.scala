package io.aqeplugin.storage

import java.util.{Map => JavaMap}
import java.util.concurrent.{CompletableFuture, Executor, TimeUnit}

import org.apache.hadoop.fs.FileStatus
import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.{FileFormat, HadoopFsRelation, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.aqeplugin.exec.DaemonThreads
import io.aqeplugin.metrics.Survivable
import io.aqeplugin.observe.{JoinKey, KeyKind, ProbeSample}

/** Rows of the key columns of Parquet tables, from a few row groups: what share of them passes a filter is known before the scan runs, however
  * the keys are distributed.
  *
  * The work is bounded: the row groups are those that [[FooterStatistics]] finds in the footers that it reads, and a column is read only if no
  * chunk of it is large. Other threads read them, and no caller waits longer than [[KeySamples.MaxMillis]] after they have begun. The rows are
  * kept for all queries of a user for an hour, or until the table's list of files changes, unless its folders were sampled; a sample that is late serves
  * the next query. A sample that could not be read is tried again by the next one.
  *
  * @param readers
  *   the threads that read
  */
class KeySamples private[storage] (statistics: FooterStatistics, readers: Executor) {
  import KeySamples._

  private val known: JavaMap[Key, Reading] = LruMap.of(MaxSamples)

  /** A sample of the columns of `keys`, which begins to be read unless it has been; none if a key is not read from the files. */
  def of(scan: FileSourceScanExec, keys: Seq[Expression]): Option[ProbeSample] = {
    val relation = scan.relation
    val columns = keys.map(JoinKey.columnOf).distinct
    val schema = StructType(relation.dataSchema.filter(field => columns.exists(c => c.name == field.name && c.dataType == field.dataType)))
    val isRead = schema.size == columns.size && schema.forall(field =>
      KeyKind.of(field.dataType).isRight && !relation.partitionSchema.exists(_.name == field.name)
    )
    if (!isRead || !relation.fileFormat.isInstanceOf[ParquetFileFormat]) None
    else
      statistics.groups(scan).map { groups =>
        val reading = readingOf(Key(groups.table, schema, UserGroupInformation.getCurrentUser.getUserName), groups, relation)
        new SampledRows(() => reading.orWhenLate(None), schema.flatMap(field => columns.find(_.name == field.name)), keys)
      }
  }

  private def readingOf(key: Key, groups: TableGroups, relation: HadoopFsRelation): Reading = {
    val fresh = new Reading(MaxMillis)
    val reading = known.merge(key, fresh, (earlier, now) => if (earlier.ageNanos > KeptNanos) now else earlier)
    if (reading eq fresh) start(fresh, key, groups, relation)
    reading
  }

  private def start(reading: Reading, key: Key, groups: TableGroups, relation: HadoopFsRelation): Unit = {
    def end(found: Option[Blocks]): Unit = {
      if (found.isEmpty) { val _ = known.remove(key, reading) }
      reading.end(found)
    }
    try {
      val reads = UserReads.of(relation, readers)
      val _ = groups.found
        .thenCompose[Option[Blocks]] {
          case Some(found) => blocks(found, relation, key.schema, reads).thenApply(Some(_))
          case None        => CompletableFuture.completedFuture(None)
        }
        .whenComplete { (found, error) =>
          end(Option(found).flatten)
          Option(error).foreach(statistics.noteUnreadable(groups.folders, WithoutSample, _))
        }
    } catch {
      // A driver may not be able to start another thread.
      case error @ (Survivable(_) | (_: OutOfMemoryError)) =>
        end(None)
        statistics.noteUnreadable(groups.folders, WithoutSample, error)
    }
  }

  private def blocks(from: FoundGroups, relation: HadoopFsRelation, schema: StructType, reads: UserReads): CompletableFuture[Blocks] = {
    val chunks = schema.names.toSeq.map(from.chunkBytes.get)
    val isSmall = chunks.forall(_.isDefined) && chunks.flatten.sum <= MaxChunkBytes
    // Without a task, only the reader of batches is closed.
    if (from.groups.size < FewestBlocks || !isSmall || !relation.fileFormat.supportBatch(relation.sparkSession, schema))
      CompletableFuture.completedFuture(Nil)
    else
      reads.async(readerOf(relation, schema, reads)).thenCompose[Blocks] { read =>
        val parts = from.groups.zipWithIndex.map { case ((file, group), i) => reads.async(rowsOf(file, group, i, schema)(read)) }
        CompletableFuture.allOf(parts: _*).thenApply[Blocks] { _ =>
          val found = parts.map(_.join())
          if (found.flatten.map(_.getSizeInBytes.toLong).sum <= MaxKeptBytes) found else Nil
        }
      }
  }
}

/** The samples, shared by all sessions of the application. */
object KeySamples extends KeySamples(FooterStatistics, DaemonThreads.pool("aqe-plugin-samples", 2, mostWaiting = 64)) {

  /** The rows of one user's queries serve no other user: whether that one may read them is not known. */
  private final case class Key(table: AnyRef, schema: StructType, user: String)

  /** A few neighbouring rows of each of some row groups. */
  private[storage] type Blocks = Seq[Array[UnsafeRow]]

  private type Reader = PartitionedFile => Iterator[Any]

  private val WithoutSample = "filters are estimated without a sample of its keys"

  private val RowsOfBlock = 512

  /** Of fewer blocks is not known how they differ. */
  private val FewestBlocks = 4

  // The reader takes a whole chunk of a column into memory, and two are read at a time.
  private val MaxChunkBytes = 16L << 20
  private val MaxKeptBytes = 1L << 20
  // A constant of the compiler, since the constructor of the class runs before others are set.
  private final val MaxSamples = 32
  private val MaxMillis = 100L
  private val KeptNanos = TimeUnit.HOURS.toNanos(1)

  /** Multiples of it, without their whole part, are spread evenly, however many there are. */
  private val GoldenRatio = 0.6180339887498949

  private def readerOf(relation: HadoopFsRelation, schema: StructType, reads: UserReads): Reader =
    FormatByTypes.plain(relation.fileFormat).buildReaderWithPartitionValues(
      relation.sparkSession,
      relation.dataSchema,
      new StructType,
      schema,
      Nil,
      relation.options + (FileFormat.OPTION_RETURNING_BATCH -> "true"),
      reads.conf
    )

  /** Neighbouring rows of a row group, in each row group at another place: the first rows of all of them may have the smallest keys. */
  private def rowsOf(file: FileStatus, group: RowGroup, index: Int, schema: StructType)(read: Reader): Array[UnsafeRow] = {
    val place = (index + 1) * GoldenRatio
    val first = ((group.rows - RowsOfBlock).max(0L) * (place - place.floor)).toLong
    val found = read(PartitionedFile(
      InternalRow.empty,
      SparkPath.fromFileStatus(file),
      group.middle,
      length = 1L,
      Array.empty,
      file.getModificationTime,
      file.getLen
    ))
    try {
      val project = UnsafeProjection.create(schema)
      rows(found.collect { case batch: ColumnarBatch => batch }, first).take(RowsOfBlock).map(project(_).copy()).toArray
    } finally
      found match {
        case open: AutoCloseable => open.close()
        case _                   =>
      }
  }

  /** The rows from the first one on; the batches before it are not looked at. */
  private def rows(batches: Iterator[ColumnarBatch], first: Long): Iterator[InternalRow] = {
    var before = 0L // once per batch
    batches.flatMap { batch =>
      val skipped = math.min(math.max(0L, first - before), batch.numRows.toLong).toInt
      before += batch.numRows
      (skipped until batch.numRows).iterator.map(row => batch.getRow(row): InternalRow)
    }
  }

  private type Reading = Awaited[Option[Blocks]]
}
