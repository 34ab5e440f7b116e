package io.aqeplugin.storage

import java.io.{FileNotFoundException, InterruptedIOException, UncheckedIOException}
import java.lang.reflect.InvocationTargetException
import java.util.{Collections, Map => JavaMap, Set => JavaSet}
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.{
  CompletableFuture,
  CompletionException,
  ExecutionException,
  Executor,
  RejectedExecutionException,
  TimeoutException
}

import org.apache.hadoop.fs.FileStatus
import org.apache.hadoop.security.AccessControlException
import org.apache.parquet.crypto.ParquetCryptoRuntimeException
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.VariantMetadata.isVariantStruct
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, FileFormat, HadoopFsRelation, InMemoryFileIndex}
import org.apache.spark.sql.types.{StructType, VariantType}

import io.aqeplugin.decide.{EstimateSource, RowEstimate}
import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.observe.TableFacts

/** Row counts and column ranges from the footers of a few Parquet or ORC files of a table.
  *
  * The calling rule runs while a query is planned, so the work is bounded: at most [[FooterStatistics.MaxFooters]] files, spread evenly
  * over the table, are read by separate threads. No caller waits longer than [[FooterStatistics.MaxMillis]] after the reads have begun,
  * however slow the storage is. The facts are kept as long as the table's list of files is unchanged, so facts that come too late serve the
  * next query. Reads that failed, for lack of a thread or of a permission, are tried again by the next query, which may be another user's. A
  * table with a footer or a folder that cannot be read is counted as one fault, however often it is tried.
  *
  * A scan of a table whose partitions the catalog keeps knows only the partitions that it selects. The bytes of the table are then estimated
  * by [[FolderSample]], in the same threads and time, by one listing for all scans of the table. They are kept for up to two minutes, and while
  * the next listing goes on or fails, unless it shows that they are no longer the user's to know; the rows are
  * those of the files read, by the bytes of these and of the table.
  *
  * @param readerOf
  *   reads the footers of a format
  * @param readers
  *   the threads that read; may reject
  */
class FooterStatistics private[storage] (readerOf: FileFormat => Option[FooterSummary.Reader], readers: Executor) {
  import FooterStatistics.{
    spread,
    CryptoFactory,
    Listed,
    ManyFiles,
    MaxTables,
    MinTableBytes,
    NoneListed,
    Reading,
    Snapshot,
    WithoutFooters
  }

  private val known: JavaMap[Snapshot, Reading] = LruMap.of(MaxTables)
  private val listings = new FolderListings(MaxTables, () => nowNanos)

  /** The folders of tables with a footer that could not be read. */
  private val unreadable: JavaSet[Seq[String]] = Collections.newSetFromMap(LruMap.of(MaxTables))

  /** Starts to read the footers of the scanned table, unless that has begun. It is called for all tables of a plan before facts are
    * requested, so that a plan waits for its slowest table and not for each in turn.
    */
  def begin(scan: FileSourceScanExec): Unit = { val _ = reading(scan) }

  /** Facts of the whole table, of which at least the bytes are known; none for a small table, whose footers are not read, unless the catalog
    * keeps its partitions.
    */
  def of(scan: FileSourceScanExec): Option[TableFacts] = reading(scan).flatMap(_.await())

  /** The row groups in some of the table's files. */
  private[storage] def groups(scan: FileSourceScanExec): Option[TableGroups] = reading(scan).map(_.groups)

  /** The columns whose statistics are kept for all queries; those of the scan alone where each may have a key, for which a server is asked. */
  private def columnsOf(scan: FileSourceScanExec): StructType = {
    val relation = scan.relation
    val session = relation.sparkSession
    val isEncrypted = relation.options.contains(CryptoFactory) || session.sessionState.conf.contains(CryptoFactory) ||
      Option(session.sparkContext.hadoopConfiguration.get(CryptoFactory)).isDefined
    if (isEncrypted) StructType(relation.dataSchema.filter(field => scan.requiredSchema.exists(_.name == field.name)))
    // A scan that extracts from a variant has what it extracts in its type: one table, read by each query otherwise.
    else StructType(relation.dataSchema.map(field => if (isVariantStruct(field.dataType)) field.copy(dataType = VariantType) else field))
  }

  private def reading(scan: FileSourceScanExec): Option[Reading] = (PartitionedTable.of(scan), scan.relation.location) match {
    case (Some(table), index: InMemoryFileIndex) =>
      val all = IndexedFiles.of(index)
      begun(Snapshot(Seq(table.folder.toString), all, state = 0L, columnsOf(scan), ofFolders = true), scan)(
        ofFolder(table, _).thenApply[Option[Listed]](_.map(sample => listed(math.max(sample.bytes, all.bytes), index.allFiles())))
      )
    case (Some(table), _: CatalogFileIndex) =>
      begun(Snapshot(Seq(table.folder.toString), NoneListed, state = 0L, columnsOf(scan), ofFolders = true), scan)(
        ofFolder(table, _).thenApply[Option[Listed]](_.map(sample => listed(sample.bytes, sample.files)))
      )
    case (None, index: InMemoryFileIndex) if readerOf(scan.relation.fileFormat).isDefined =>
      Some(IndexedFiles.of(index)).filter(_.bytes >= MinTableBytes).flatMap { all =>
        begun(Snapshot(index.rootPaths.map(_.toString), all, state = 0L, columnsOf(scan)), scan)(_ =>
          CompletableFuture.completedFuture(Some(listed(all.bytes, index.allFiles())))
        )
      }
    case (None, _) if DeltaScan.isOne(scan) =>
      // Files that Delta leaves out are not opened.
      DeltaScan.selected(scan).filter(table => table.bytes >= MinTableBytes || table.count >= ManyFiles).flatMap { table =>
        val sample = spread(table.count).flatMap(table.file(_))
        val schema = if (DeltaScan.namesColumnsAsInFiles(scan)) columnsOf(scan) else new StructType
        val all = IndexedFiles(table.count, table.bytes, newestMillis = 0L)
        begun(Snapshot(Seq(table.folder.toString), all, table.version, schema, sample.map(_.getPath.toString)), scan)(_ =>
          CompletableFuture.completedFuture(Some(Listed(table.bytes, sample)))
        )
      }
    case _ => None
  }

  /** As `System.nanoTime`. */
  protected def nowNanos: Long = System.nanoTime()

  private def begun(snapshot: Snapshot, scan: FileSourceScanExec)(
      list: UserReads => CompletableFuture[Option[Listed]]
  ): Option[Reading] = {
    val latest = known.compute(
      snapshot,
      (_, earlier) => Option(earlier).filterNot(isOld(snapshot, _)).getOrElse(new Reading(snapshot, Option(earlier).flatMap(_.facts)))
    )
    if (latest.begin()) start(latest, snapshot, scan.relation, list)
    Some(latest)
  }

  private def isOld(snapshot: Snapshot, reading: Reading): Boolean =
    snapshot.ofFolders && reading.endNanos.exists(nowNanos - _ > FolderListings.KeptNanos)

  private def ofFolder(table: PartitionedTable, query: UserReads): CompletableFuture[Option[FolderSample]] =
    listings.of(table, query.userName)(query.async(FolderSample.of(table.folder, table.columns, query.conf)))

  private def start(
      reading: Reading,
      snapshot: Snapshot,
      relation: HadoopFsRelation,
      list: UserReads => CompletableFuture[Option[Listed]]
  ): Unit = {
    def fail(error: Throwable): Unit = {
      val kept = if (isGone(error)) None else reading.before
      if (kept.isEmpty) { val _ = known.remove(snapshot, reading) }
      reading.end(kept, nowNanos)
      noteUnreadable(snapshot.roots, WithoutFooters, error)
    }
    try {
      val query = UserReads.of(relation, readers)
      val _ = list(query)
        .thenCompose[Option[TableFacts]] {
          case Some(listed) => facts(listed, snapshot.schema, readerOf(relation.fileFormat), reading, query)
          case None         => CompletableFuture.completedFuture(None)
        }
        // A file that cannot be read fails the query only when the query itself reads it.
        .whenComplete((found, error) => Option(error).fold(reading.end(found, nowNanos))(fail))
    } catch {
      // A driver may not be able to start another thread.
      case error @ (Survivable(_) | (_: OutOfMemoryError)) => fail(error)
    }
  }

  private def isGone(error: Throwable): Boolean = error match {
    case wrapped: CompletionException if Option(wrapped.getCause).isDefined => isGone(wrapped.getCause)
    case _: FileNotFoundException | _: AccessControlException               => true
    case other => other.getClass.getName == IcebergMembers.Package + "exceptions.NotFoundException"
  }

  /** Whether Parquet was refused a key. */
  private def isRefused(error: Throwable): Boolean =
    error.isInstanceOf[ParquetCryptoRuntimeException] || Option(error.getCause).exists(isRefused)

  private def facts(
      listed: Listed,
      schema: StructType,
      reader: Option[FooterSummary.Reader],
      reading: Reading,
      query: UserReads
  ): CompletableFuture[Option[TableFacts]] = {
    val sampledBytes = listed.sample.map(_.getLen).sum
    reader.filter(_ => sampledBytes > 0) match {
      case None       => CompletableFuture.completedFuture(Option.when(listed.bytes > 0)(TableFacts(None, Some(listed.bytes))))
      case Some(read) =>
        val footers =
          listed.sample.map(file => query.async(if (reading.isEnded) FooterSummary(0L, Map.empty) else read(file, query.conf, schema)))
        CompletableFuture.allOf(footers: _*).thenApply[Option[TableFacts]] { _ =>
          val found = footers.map(_.join())
          reading.groups.end(listed.sample.zip(found))
          val rows = (found.map(_.rows).sum.toDouble / sampledBytes * listed.bytes).toLong
          Some(TableFacts(
            Some(RowEstimate(rows, EstimateSource.Footers)),
            Some(listed.bytes),
            FooterSummary.ranges(found),
            textBounds = FooterSummary.texts(found),
            valueIndexes = FooterSummary.valueIndexes(found)
          ))
        }
    }
  }

  /** Counts a table with an unreadable file or folder as one fault.
    *
    * @param left
    *   what happens without the file
    */
  private[storage] def noteUnreadable(folders: Seq[String], left: String, error: Throwable): Unit = error match {
    case _: CompletionException | _: ExecutionException | _: InvocationTargetException | _: UncheckedIOException
        if Option(error.getCause).isDefined =>
      noteUnreadable(folders, left, error.getCause)
    case _ if isRefused(error) || isGone(error) || SparkBridge.isCancellation(error) =>
    // Storage may be slow, a table be written anew while it is read, and another user's; and threads may be busy.
    case _: InterruptedIOException | _: TimeoutException | _: RejectedExecutionException =>
    case _                                                                               =>
      if (unreadable.add(folders)) Faults.note("footer read", s"of ${folders.mkString(", ")}, $left", error)
  }

  private def listed(bytes: Long, files: Seq[FileStatus]): Listed = {
    val notEmpty = files.filter(_.getLen > 0)
    Listed(bytes, if (bytes >= MinTableBytes) spread(notEmpty.size).map(notEmpty) else Nil)
  }
}

/** The footers, shared by all sessions of the application. */
object FooterStatistics extends FooterStatistics(FooterSummary.reader, FooterThreads.pool) {
  // Constants of the compiler, since the constructor of the class runs before these are set.
  private final val WithoutFooters = "its rows are estimated without footers"
  private final val MaxFooters = 12
  private final val MaxMillis = 300L
  private final val MinTableBytes = 4194304L

  /** Ten times [[MaxFooters]], so that no more than a tenth of the files are opened to learn whether the others need be. */
  private final val ManyFiles = 120
  private final val MaxTables = 256

  // Parquet reads no encrypted column without it.
  private final val CryptoFactory = "parquet.crypto.factory.class"

  /** The positions of a few of so many, evenly. */
  def spread(count: Int, most: Int = MaxFooters): Seq[Int] =
    if (count <= most) 0 until count else (0 until most).map(i => (i.toLong * (count - 1) / (most - 1)).toInt)

  /** Of a table whose partitions nobody has listed. */
  private val NoneListed = IndexedFiles(count = -1, bytes = 0L, newestMillis = 0L)

  /** A state of a table: its folders, or the one that its partitions are in; its files or those of the selected partitions; the version of a
    * Delta table; the types by which its files are read; of a Delta table, the files that are read for the query's selection; and whether
    * folders are sampled, which says nothing of the table's state.
    */
  private final case class Snapshot(
      roots: Seq[String],
      files: IndexedFiles,
      state: Long,
      schema: StructType,
      sample: Seq[String] = Nil,
      ofFolders: Boolean = false
  ) {

    /** Equal for all selections of a table's files. */
    def table: AnyRef =
      if (ofFolders) (roots, schema) else if (sample.nonEmpty) (roots, state, schema) else (roots, files, schema)
  }

  /** The bytes of a table, and the files whose footers are read. */
  private final case class Listed(bytes: Long, sample: Seq[FileStatus])

  private final case class Ended(facts: Option[TableFacts], atNanos: Long)

  /** A table whose footers are being read or have been read.
    *
    * @param before
    *   older facts, for those who would wait too long
    */
  private final class Reading(snapshot: Snapshot, val before: Option[TableFacts]) {
    private val begun = new AtomicBoolean()
    val groups = new TableGroups(snapshot.table, snapshot.roots)
    private val ended = new Awaited[Ended](MaxMillis)

    def end(found: Option[TableFacts], nowNanos: Long): Unit = {
      ended.end(Ended(found, nowNanos))
      if (found.isEmpty) groups.fail() else groups.end(Nil)
    }
    def isEnded: Boolean = ended.now.isDefined

    /** Whether the caller is the first, and has to start it. */
    def begin(): Boolean = begun.compareAndSet(false, true)

    /** When it ended; none while it goes on. */
    def endNanos: Option[Long] = ended.now.map(_.atNanos)

    /** What is known without waiting. */
    def facts: Option[TableFacts] = ended.now.fold(before)(_.facts)

    def await(): Option[TableFacts] = ended.orWhenLate(Ended(before, 0L)).facts
  }
}
