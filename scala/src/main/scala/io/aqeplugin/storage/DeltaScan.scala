package io.aqeplugin.storage

import java.net.URI

import scala.util.Try

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference, Expression, ExpressionSet, IsNotNull}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitionDirectory}

import io.aqeplugin.decide.{EstimateSource, RowEstimate}
import io.aqeplugin.exec.DataFiles
import io.aqeplugin.observe.{Conjuncts, TableFacts}

/** Scans of Delta tables, which are scans of Parquet files with a format of Delta's own. It is known by name: the plugin does not depend on
  * Delta.
  */
object DeltaScan {
  private val Format = "org.apache.spark.sql.delta.DeltaParquetFileFormat"

  /** Columns that Delta computes while it reads: whether a row is deleted, its number. */
  private val InternalPrefix = "__delta_internal"

  /** The file's own attribute that names its deletion vector. */
  private val DeletionVector = "row_index_filter_id_encoded"

  /** The column mapping of a table whose columns have their own names in its files. */
  private val NoMapping = "none"

  /** The column mapping of a table whose columns have names in its files that Delta's log has. */
  private val MappingByName = "name"

  /** The list of files that Delta made while it planned the query. */
  private val PreparedIndex = "org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex"

  /** The list of files that a command of Delta, or a stream, has chosen. */
  private val BatchIndex = "org.apache.spark.sql.delta.files.TahoeBatchFileIndex"

  /** What commands have such a list for, which is of files of one version. That of a stream may have files of others. */
  private val OfCommands = Set[Any]("batch", "merge")

  def isOne(scan: FileSourceScanExec): Boolean = scan.relation.fileFormat.getClass.getName == Format

  /** Whether an expression gives the value of its only child, and counts rows by the way. Spark calls that not deterministic. */
  def isCount(expression: Expression): Boolean = expression.getClass.getName == "org.apache.spark.sql.delta.metric.IncrementMetric"

  /** Whether a footer's rows and columns may be others than those that the table has. */
  def differsFromFiles(scan: FileSourceScanExec, partitions: Seq[PartitionDirectory]): Boolean =
    scan.output.exists(_.name.startsWith(InternalPrefix)) ||
      !namesColumnsAsInFiles(scan) ||
      partitions.exists(_.files.exists(_.metadata.contains(DeletionVector)))

  /** What the log of the table says: the bytes of all its files, and their rows where Delta has read the statistics of its log for a condition
    * on a column that is no partition. Conditions on partitions alone need no statistics, and files may have none.
    */
  def facts(scan: FileSourceScanExec): Option[TableFacts] =
    prepared(scan).flatMap(valueOf(_, "total")).map { total =>
      val rows = number(total, "logicalRows").orElse(number(total, "rows"))
      TableFacts(rows.map(RowEstimate(_, EstimateSource.DeltaLog)), bytes = number(total, "bytesCompressed"))
    }

  /** The number of files that Delta selected while it planned the query or command; none for scans of another kind, such as those of changes. */
  def selectedFiles(scan: FileSourceScanExec): Option[Int] = if (isOne(scan)) selectedFiles(scan.relation.location) else None

  def selectedFiles(index: FileIndex): Option[Int] = {
    val own = FilesOfKeys.all(index)
    if (own.getClass.getName == PreparedIndex) valueOf(own, "preparedScan").flatMap(files).map(_.size) else candidates(own).map(_.size)
  }

  /** The number of files of the table, if Delta knew it when it planned the query. */
  def tableFiles(scan: FileSourceScanExec): Option[Long] = prepared(scan).flatMap(valueOf(_, "total")).flatMap(number(_, "files"))

  private def indexOf(scan: FileSourceScanExec): FileIndex = FilesOfKeys.all(scan.relation.location)

  /** Whether a command reads the scan. */
  def isOfCommand(scan: FileSourceScanExec): Boolean = candidates(scan).isDefined

  private def candidates(scan: FileSourceScanExec): Option[scala.collection.Seq[_]] =
    if (isOne(scan)) candidates(indexOf(scan)) else None

  /** The files in which a command looks for rows. */
  private def candidates(index: FileIndex): Option[scala.collection.Seq[_]] = {
    val isOfCommand = index.getClass.getName == BatchIndex && valueOf(index, "actionType").exists(OfCommands)
    if (isOfCommand) valueOf(index, "addFiles").collect { case files: scala.collection.Seq[_] => files } else None
  }

  /** The table, and the files that Delta selected while it planned the query; none if it has listed none. */
  def selected(scan: FileSourceScanExec): Option[DeltaFiles] =
    for {
      (files, bytes, of) <- candidates(scan).map((_, indexOf(scan).sizeInBytes, indexOf(scan))).orElse(ofQuery(scan))
      version <- valueOf(of, "version").collect { case number: java.lang.Long => number.longValue }
      folder <- scan.relation.location.rootPaths.headOption
    } yield DeltaFiles(
      folder,
      version,
      bytes,
      files.size,
      index => files.lift(index).collect { case file: AnyRef => file }.flatMap(status(folder, _))
    )

  private def ofQuery(scan: FileSourceScanExec): Option[(scala.collection.Seq[_], Long, AnyRef)] =
    for {
      listed <- prepared(scan)
      bytes <- valueOf(listed, "total").flatMap(number(_, "bytesCompressed"))
      files <- files(listed)
    } yield (files, bytes, listed)

  /** Whether columns have their own names in the files. */
  def namesColumnsAsInFiles(scan: FileSourceScanExec): Boolean = columnMapping(scan).contains(NoMapping)

  /** The files that the scan reads, if they are those that Delta selected while it planned the query: under other conditions it selects anew. */
  def listed(scan: FileSourceScanExec): Option[DataFiles] =
    if (isOfCommand(scan))
      Option.when(scan.partitionFilters.isEmpty)(DataFiles(selectedFiles(scan).fold(0L)(_.toLong), indexOf(scan).sizeInBytes))
    else for {
      count <- selectedFiles(scan)
      listed <- prepared(scan)
      by <- preparedBy(scan) if byName(scan, by).exists(byName(scan, scan.partitionFilters ++ scan.dataFilters).contains)
      bytes <- valueOf(listed, "scanned").flatMap(number(_, "bytesCompressed"))
    } yield DataFiles(count.toLong, bytes)

  /** The files that the scan reads, as Spark lists them. Delta has listed those of equal scans of a query once, under the attributes of one of them, and
    * takes the conditions of the others for new ones, which costs a job for each; but not if they ask with the attributes of the first. That a column is
    * not null, which Spark may know later, is worth no job: without it, files of nulls alone are read too.
    */
  def partitions(scan: FileSourceScanExec): Vector[PartitionDirectory] = {
    val ofPartitions = scan.partitionFilters.filterNot(Conjuncts.isKnownLater)
    val known = for {
      by <- preparedBy(scan) if scan.relation.location eq indexOf(scan)
      listed <- byName(scan, by)
      needed <- byName(scan, ofPartitions) if needed.subsetOf(listed)
      wanted <- byName(scan, ofPartitions ++ scan.dataFilters)
      if listed.subsetOf(wanted) && (wanted -- listed).forall(_.isInstanceOf[IsNotNull])
    } yield indexOf(scan).listFiles(Nil, by).toVector
    known.getOrElse(scan.selectedPartitions.filePartitionIterator.map(part =>
      PartitionDirectory(part.values, part.files.toVector)
    ).toVector)
  }

  /** The conditions that Delta has listed files by while it planned the query, of whichever of several equal scans. */
  private def preparedBy(scan: FileSourceScanExec): Option[Seq[Expression]] =
    prepared(scan).flatMap(valueOf(_, "allFilters")).collect { case by: Iterable[_] => by.toSeq.collect { case one: Expression => one } }

  /** Conditions over the columns of the table; none if there are others. */
  private def byName(scan: FileSourceScanExec, conditions: Seq[Expression]): Option[ExpressionSet] = {
    val columns = scan.relation.schema.fieldNames.zipWithIndex.toMap
    Option.when(conditions.forall(_.references.forall(column => columns.contains(column.name))))(ExpressionSet(conditions.map(_.transform {
      case column: Attribute => BoundReference(columns(column.name), column.dataType, nullable = true)
    })))
  }

  private def prepared(scan: FileSourceScanExec): Option[AnyRef] = valueOf(indexOf(scan), "preparedScan")

  /** Delta's own version of the table that the scan reads. */
  private[storage] def snapshot(scan: FileSourceScanExec): Option[AnyRef] =
    prepared(scan).flatMap(valueOf(_, "scannedSnapshot"))
      .orElse(candidates(scan).flatMap(_ => valueOf(indexOf(scan), "snapshot")))

  private def files(prepared: AnyRef): Option[scala.collection.Seq[_]] =
    valueOf(prepared, "files").collect { case files: scala.collection.Seq[_] => files }

  /** Only what a reader of a footer asks for. */
  private def status(folder: Path, file: AnyRef): Option[FileStatus] =
    for {
      path <- valueOf(file, "path").collect { case text: String => text }
      bytes <- valueOf(file, "size").collect { case size: java.lang.Long => size.longValue }
    } yield new FileStatus(bytes, false, 0, 0L, 0L, fileIn(folder, path))

  /** Where a file is that the log names. */
  private[storage] def fileOf(scan: FileSourceScanExec, path: String): Path =
    scan.relation.location.rootPaths.headOption.fold(new Path(new URI(path)))(fileIn(_, path))

  private def fileIn(folder: Path, named: String): Path = {
    val path = new Path(new URI(named))
    if (path.isAbsolute) path else new Path(folder, path)
  }

  private def number(size: AnyRef, member: String): Option[Long] =
    valueOf(size, member).collect { case Some(number: Long) if number >= 0 => number }

  /** Whether the names that Delta gives to conditions are those of the same columns in each file. Columns that are read by their field ids may
    * have any name in a file.
    */
  def readsByName(scan: FileSourceScanExec): Boolean = columnMapping(scan).exists(Set(NoMapping, MappingByName))

  /** None where this version of Delta has no such method. */
  private[storage] def valueOf(owner: AnyRef, method: String): Option[AnyRef] =
    Try(owner.getClass.getMethod(method).invoke(owner)).toOption.flatMap(Option(_))

  /** The format knows the table's column mapping; Delta removes it from the schema of the scan. */
  private def columnMapping(scan: FileSourceScanExec): Option[String] =
    valueOf(scan.relation.fileFormat, "columnMappingMode").flatMap(valueOf(_, "name")).collect { case mode: String => mode }
}

/** Files of one version of a Delta table.
  *
  * @param bytes
  *   of all files of the table
  * @param count
  *   number of the selected files
  * @param file
  *   a selected file by its position, with its path and bytes; none if this version of Delta does not tell them
  */
private[storage] final case class DeltaFiles(folder: Path, version: Long, bytes: Long, count: Int, file: Int => Option[FileStatus])
