package io.aqeplugin.storage

import org.apache.hadoop.fs.Path
import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference, Expression}
import org.apache.spark.sql.catalyst.util.RebaseDateTime
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.PartitionDirectory
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.exec.ColumnKeys
import io.aqeplugin.metrics.Survivable
import io.aqeplugin.observe.{Same, TableStatistics, Wholes}

/** Delta tables: partitions, files whose statistics in Delta's log exclude all keys, and row groups.
  *
  * Delta has listed the files when it planned the query or command. Conditions on partitions choose among these, and so do bounds of other columns, which are compared
  * here: for a condition on one, Delta would list the files anew, by a job, for each scan. Delta itself gives the conditions for row groups the names
  * that columns have in its files, and ignores them where it counts the rows of a file to leave out deleted ones.
  */
private[storage] object DeltaKeys extends KeyedFormat {

  /** Bytes below which reading all files is about as fast as a job that reads their bounds. Each file counts as Spark counts it when it
    * divides them into tasks: by its bytes and the cost of opening it.
    */
  private val MinBytes = 64L << 20

  /** A query waits for the bounds for so long, or a share of the time in which all files could be read. */
  private val LeastWaitMillis = 1000L
  private val MostWaitMillis = 10000L
  private val ShareWaited = 0.1
  private val MillisPerByte = 5e-6

  override def narrowed(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Option[SparkPlan] = scan match {
    case file: FileSourceScanExec => DeltaScan.selectedFiles(file).flatMap { files =>
        val narrowed = if (PartitionRange.isPartition(file, keys.column)) byPartition(file, keys)
        else if (ParquetKeys.skipsDamage(file.relation)) None
        else byBounds(file, keys, tables, files)
        narrowed.map(UnlistedFiles.counted(file, _))
      }
    case _ => None
  }

  /** Whether files without a key may be left out by their bounds, as far as the column tells. */
  def usesBounds(scan: FileSourceScanExec, column: Attribute): Boolean = {
    val isCompared = areWholes(column.dataType) || column.dataType == StringType
    DeltaScan.isOne(scan) && isCompared && !PartitionRange.isPartition(scan, column) && !ParquetKeys.skipsDamage(scan.relation)
  }

  private def byPartition(scan: FileSourceScanExec, keys: KnownKeys): Option[FileSourceScanExec] =
    // Spark looks such a column up by its name.
    Option(scan.relation.partitionSchema.fieldNames.indexOf(keys.column.name)).filter(_ >= 0).flatMap { ordinal =>
      keys.isListedAtRunTime.orElse(keys.mayBe.map(test => keys.isAmong(passing(scan, ordinal, test))))
        .map(condition => ThisSparkLine.withPartitionFilters(scan, Seq(condition)))
    }

  /** The values of the listed partitions that may be keys. */
  private def passing(scan: FileSourceScanExec, ordinal: Int, test: MayBeKey): Seq[Any] = {
    val field = scan.relation.partitionSchema(ordinal)
    val value = test.copy(child = BoundReference(0, field.dataType, nullable = true))
    DeltaScan.partitions(scan).map(_.values.get(ordinal, field.dataType)).toSet
      .filter((found: Any) => value.eval(InternalRow(found)) == true).toSeq
  }

  /** By what the scan reads, its conditions, whether there are more of them, and the keys. */
  private val earlier =
    new PerRelation[(Same, Seq[Expression], Seq[Expression], Boolean, String, ColumnKeys), FilesOfKeys]("deltaFilesOfKeys")

  private def byBounds(scan: FileSourceScanExec, keys: KnownKeys, tables: TableStatistics, files: Int): Option[FileSourceScanExec] = {
    val inFiles = if (isTrusted(keys) && DeltaScan.readsByName(scan)) ParquetKeys.conditions(scan, keys, tables) else Nil
    val question =
      (Same(scan.relation.location), scan.partitionFilters, scan.dataFilters, inFiles.nonEmpty, keys.column.name, keys.built)
    earlier.of(scan, keys.column, question)(chosen(scan, keys, files, inFiles.nonEmpty)).map { index =>
      val reading = ThisSparkLine.withRelation(scan, scan.relation.copy(location = index)(scan.relation.sparkSession))
      ThisSparkLine.withDataFilters(reading, inFiles)
    }
  }

  /** The files that may hold a key; none if these are all, and Delta may list them. */
  private def chosen(scan: FileSourceScanExec, keys: KnownKeys, files: Int, isConditioned: Boolean): Option[FilesOfKeys] = {
    val left = withoutKeys(scan, keys, files)
    Option.when(isConditioned || left.nonEmpty) {
      val listed = DeltaScan.partitions(scan).map { part =>
        PartitionDirectory(part.values, part.files.filterNot(file => left(file.getPath)))
      }.filter(_.files.nonEmpty)
      FilesOfKeys.among(scan.relation.location, keys.column.name, keys.built, listed)
    }
  }

  /** Files of the table that hold no key by their bounds. */
  private def withoutKeys(scan: FileSourceScanExec, keys: KnownKeys, files: Int): Set[Path] =
    try {
      lazy val bytes = FilesOfKeys.all(scan.relation.location).sizeInBytes
      val found = for {
        meets <- meeting(keys) if !FileSamples.showAll(scan, keys)
        snapshot <- DeltaScan.snapshot(scan)
        bounds <- DeltaBounds.of(scan, snapshot, keys.column, mostWaitMillis(bytes, scan), isLarge(bytes, files.toLong, scan.conf))
      } yield bounds.iterator.collect { case (path, file) if file.isEmpty || !meets(file) => DeltaScan.fileOf(scan, path) }.toSet
      found.getOrElse(Set.empty)
    } catch {
      case Survivable(error) =>
        FooterStatistics.noteUnreadable(scan.relation.location.rootPaths.map(_.toString), "no files are left out by keys", error)
        Set.empty
    }

  /** Whether a file with values may hold keys, by its bounds; none if they say nothing of keys like these. */
  private def meeting(keys: KnownKeys): Option[FileBounds[Any] => Boolean] = {
    def test[A: Ordering](ranges: Seq[(A, A)])(value: PartialFunction[Any, A]): FileBounds[Any] => Boolean = {
      val meets = KeyMeeting.of(ranges.toIndexedSeq)
      file => meets(file.low.collect(value), file.high.collect(value))
    }
    keys.column.dataType match {
      case StringType =>
        keys.literals.map(_.map(_.value).collect { case text: UTF8String => text }.sorted)
          .map(texts => test(texts.map(text => (text, text))) { case text: UTF8String => text })
      case dataType if areWholes(dataType) =>
        val ranges = keys.built.values.fold(keys.built.ranges)(_.map(key => (key, key)))
        Option.when(ranges.headOption.exists(range => isOfOneCalendar(range._1, dataType)))(test(ranges) { case whole: Long => whole })
      case _ => None
    }
  }

  private def areWholes(dataType: DataType): Boolean = Wholes.areOrdered(dataType) || dataType.isInstanceOf[DecimalType]

  /** Whether a file that was converted to Delta's has no other value in place of this or a greater one. */
  private def isOfOneCalendar(code: Long, dataType: DataType): Boolean = dataType match {
    case DateType                         => code >= RebaseDateTime.lastSwitchGregorianDay
    case TimestampType | TimestampNTZType => code >= RebaseDateTime.lastSwitchGregorianTs
    case _                                => true
  }

  /** Whether Parquet's readers compare keys as Spark does: decimals and integers of less than four bytes they do not, where a file has another type, and texts
    * beyond ASCII neither.
    */
  def isTrusted(keys: KnownKeys): Boolean = keys.column.dataType match {
    case BooleanType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType => true
    case _                                                                                  => keys.areAscii
  }

  private def mostWaitMillis(bytes: Long, scan: FileSourceScanExec): Long = {
    val slots = scan.session.sparkContext.defaultParallelism.max(1)
    (bytes * MillisPerByte / slots * ShareWaited).toLong.max(LeastWaitMillis).min(MostWaitMillis)
  }

  /** Whether a job that reads bounds of files pays. */
  def isLarge(bytes: Long, files: Long, conf: SQLConf): Boolean = bytes.toDouble + files.toDouble * conf.filesOpenCostInBytes >= MinBytes
}
