package io.aqeplugin.storage

import java.util.{Collections, LinkedHashMap, Map => JavaMap}
import java.util.concurrent.{CompletableFuture, ExecutionException, Executor, TimeUnit, TimeoutException}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, UnsafeProjection}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.{FileFormat, HadoopFsRelation, PartitionedFile}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.aqeplugin.decide.SampledKeys
import io.aqeplugin.exec.KeyCoder
import io.aqeplugin.observe.{BuildKeys, JoinKey, ProbeSample}

/** Rows of the key columns of Parquet and ORC tables, from a few places of their files: what share of them passes a filter is known before the
  * scan runs, however the keys are distributed.
  *
  * The work is bounded: the files are those of which [[FooterStatistics]] reads the footers, of which at most [[KeySamples.Blocks]] row groups
  * or stripes are opened, and only the key columns of their first [[KeySamples.RowsOfBlock]] rows are decoded. Other threads read them, and no
  * caller waits longer than [[KeySamples.MaxMillis]] after they have begun. The rows of the latest [[KeySamples.MaxSamples]] samples are kept
  * while the tables' lists of files are unchanged, for all queries; a sample that is late serves the next one.
  *
  * @param readers
  *   the threads that read; may reject
  */
class KeySamples private[storage] (statistics: FooterStatistics, readers: Executor) {
  import KeySamples._

  private val known: JavaMap[(AnyRef, Seq[String]), Reading] =
    Collections.synchronizedMap(new LinkedHashMap[(AnyRef, Seq[String]), Reading](16, 0.75f, true) {
      override def removeEldestEntry(eldest: JavaMap.Entry[(AnyRef, Seq[String]), Reading]): Boolean = size > MaxSamples
    })

  /** A sample of the columns of `keys`, which begins to be read unless it has been; none if a key is not read from the files. */
  def of(scan: FileSourceScanExec, keys: Seq[Expression]): Option[ProbeSample] = {
    val columns = keys.map(JoinKey.columnOf).distinct
    val inFiles = scan.relation.dataSchema.filter(field => columns.exists(_.name == field.name))
    val readable = inFiles.size == columns.size && inFiles.forall(field => !scan.relation.partitionSchema.exists(_.name == field.name))
    if (!readable) None
    else
      statistics.files(scan).map { files =>
        val schema = StructType(inFiles)
        val fresh = new Reading
        val reading = Option(known.putIfAbsent((files, schema.names.toSeq), fresh)).getOrElse {
          start(fresh, files, scan.relation, schema)
          fresh
        }
        new Sample(reading, schema.names.toSeq.flatMap(name => columns.find(_.name == name)), keys)
      }
  }

  private def start(reading: Reading, files: TableFiles, relation: HadoopFsRelation, schema: StructType): Unit =
    try {
      val reads = UserReads.of(relation, readers)
      val _ = files.sample
        .thenCompose[Seq[Array[InternalRow]]](sample => blocks(sample, relation, schema, reads))
        .whenComplete { (found, error) =>
          Option(error).foreach(statistics.noteUnreadable(files.folders, "filters are estimated without a sample of its keys", _))
          reading.end(Option(found))
        }
    } catch {
      case NonFatal(_) => reading.end(None)
    }

  private def blocks(
      files: Seq[FileStatus],
      relation: HadoopFsRelation,
      schema: StructType,
      reads: UserReads
  ): CompletableFuture[Seq[Array[InternalRow]]] = {
    // Without a task, only batches are closed.
    val isReadable = relation.fileFormat.supportBatch(relation.sparkSession, schema)
    if (files.isEmpty || !isReadable) CompletableFuture.completedFuture(Nil)
    else
      reads.async(readerOf(relation, schema, reads)).thenCompose[Seq[Array[InternalRow]]] { read =>
        val each = math.max(1, Blocks / files.size)
        val parts = for (file <- files; part <- 0 until each) yield {
          def position(of: Int): Long = (file.getLen.toDouble * of / each).toLong
          reads.async(firstRows(file, position(part), position(part + 1), schema)(read))
        }
        CompletableFuture.allOf(parts: _*).thenApply[Seq[Array[InternalRow]]](_ => parts.map(_.join()).filter(_.nonEmpty))
      }
  }
}

/** The samples, shared by all sessions of the application. */
object KeySamples extends KeySamples(FooterStatistics, FooterThreads.pool) {
  private[storage] val Blocks = 12
  private val RowsOfBlock = 512

  /** Of fewer blocks is not known how they differ. */
  private[storage] val FewestBlocks = 4
  private val MaxSamples = 64
  private val MaxMillis = 100L

  private type Reader = PartitionedFile => Iterator[Any]

  private def readerOf(relation: HadoopFsRelation, schema: StructType, reads: UserReads): Reader =
    relation.fileFormat.buildReaderWithPartitionValues(
      relation.sparkSession,
      relation.dataSchema,
      new StructType,
      schema,
      Nil,
      relation.options + (FileFormat.OPTION_RETURNING_BATCH -> "true"),
      reads.conf
    )

  /** The first rows of the row groups or stripes that begin in a part of a file; none if no one does. */
  private def firstRows(file: FileStatus, start: Long, end: Long, schema: StructType)(read: Reader): Array[InternalRow] = {
    val part =
      PartitionedFile(
        InternalRow.empty,
        SparkPath.fromFileStatus(file),
        start,
        end - start,
        Array.empty,
        file.getModificationTime,
        file.getLen
      )
    val found = read(part)
    try {
      val project = UnsafeProjection.create(schema)
      found.flatMap {
        case batch: ColumnarBatch => batch.rowIterator.asScala
        case row: InternalRow     => Iterator(row)
        case _                    => Iterator.empty
      }.take(RowsOfBlock).map(project(_).copy(): InternalRow).toArray
    } finally
      found match {
        case open: AutoCloseable => open.close()
        case _                   =>
      }
  }

  /** A sample that is being read or has been read. */
  private final class Reading {
    private val blocks = new CompletableFuture[Option[Seq[Array[InternalRow]]]]()
    private val deadlineNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(MaxMillis)

    def end(found: Option[Seq[Array[InternalRow]]]): Unit = { val _ = blocks.complete(found) }

    def await(): Option[Seq[Array[InternalRow]]] =
      try blocks.get(math.max(0L, deadlineNanos - System.nanoTime()), TimeUnit.NANOSECONDS).filter(_.size >= FewestBlocks)
      catch { case _: TimeoutException | _: ExecutionException => None }
  }

  /** @param columns
    *   those of the rows, in their order
    */
  private final class Sample(reading: Reading, columns: Seq[Attribute], keys: Seq[Expression]) extends ProbeSample {
    // A key that is computed may throw, as it will in the query.
    override def matching(build: BuildKeys): Option[SampledKeys] =
      reading.await().flatMap(blocks => Try(among(blocks, build)).toOption.flatten)

    private def among(blocks: Seq[Array[InternalRow]], build: BuildKeys): Option[SampledKeys] = {
      val coder = KeyCoder(keys, columns)
      val isBuildKey = build.have(keys, columns)
      val matching = mutable.HashSet.empty[Long]
      val codes = blocks.map(_.flatMap { row =>
        if (coder.hasNull(row)) None
        else {
          val code = coder.code(row)
          if (!matching(code) && isBuildKey(row, code)) matching += code
          Some(code)
        }
      })
      SampledKeys.of(codes, blocks.map(_.length))(matching)
    }
  }
}
