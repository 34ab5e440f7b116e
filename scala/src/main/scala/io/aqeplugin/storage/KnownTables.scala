package io.aqeplugin.storage

import scala.util.Try

import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, FileIndex, HadoopFsRelation, InMemoryFileIndex, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation}

import io.aqeplugin.decide.KeyBucket
import io.aqeplugin.exec.DataFiles
import io.aqeplugin.observe.{Conjuncts, TableFacts}

/** What is known of a scanned table as a whole, from the surest source that knows it: the log of a Delta table, the snapshot of an Iceberg
  * table, file footers, the catalog. A scan that leaves out partitions or files is of the same table as one that does not.
  */
object KnownTables {

  /** What a query's scans of one table have in common. */
  def keyOf(scan: SparkPlan): Option[AnyRef] = scan match {
    case file: FileSourceScanExec => Some(FilesOfKeys.all(file.relation.location))
    case batch: BatchScanExec     => tableOf(batch)
    case other                    => HiveScan.of(other).map(_.relation.tableMeta.identifier)
  }

  /** Starts to read what a table's files or its log say, so that a plan waits for its slowest table and not for each in turn. */
  def begin(scan: SparkPlan): Unit = scan match {
    case file: FileSourceScanExec => FooterStatistics.begin(file)
    case batch: BatchScanExec     => tableOf(batch).foreach(IcebergBounds.begin(_, batch.scan))
    case _                        =>
  }

  def of(scan: SparkPlan): Option[TableFacts] = scan match {
    case file: FileSourceScanExec => Some(ofFiles(file))
    case batch: BatchScanExec     => tableOf(batch).flatMap(IcebergSnapshot.facts(_, batch.scan))
    case other                    => HiveScan.of(other).flatMap(ofSerDe)
  }

  /** Whether a command changes the rows of the table. */
  def isChanged(scan: SparkPlan): Boolean = scan match {
    case file: FileSourceScanExec => DeltaScan.isOfCommand(file)
    case batch: BatchScanExec     => Option(batch.table).exists(SparkBridge.changedTable(_).isDefined)
    case _                        => false
  }

  /** A command that changes rows has one of Spark's around the source's. */
  private[storage] def tableOf(scan: BatchScanExec): Option[Table] =
    Option(scan.table).map(table => SparkBridge.changedTable(table).getOrElse(table))

  /** Once Spark has asked for the partitions, the statistics are those of the selected ones. */
  private def ofSerDe(scan: HiveScan): Option[TableFacts] =
    if (scan.relation.prunedPartitions.isDefined) None else CatalogStatistics.of(scan.relation.tableMeta)

  private def ofFiles(scan: FileSourceScanExec): TableFacts = {
    val analyzed = PartitionedTable.unpruned(scan).flatMap(CatalogStatistics.of(_)).getOrElse(TableFacts.Unknown)
    val logged = Option.when(DeltaScan.isOne(scan))(scan).flatMap(DeltaScan.facts).getOrElse(TableFacts.Unknown)
    val read = FooterStatistics.of(scan).getOrElse(TableFacts.Unknown)
    TableFacts(
      logged.rows.orElse(read.rows).orElse(analyzed.rows),
      logged.bytes.orElse(read.bytes).orElse(allBytes(scan)).orElse(analyzed.bytes),
      analyzed.ranges ++ read.ranges,
      analyzed.distinct,
      // Files written after the analysis may have values that the histogram lacks.
      analyzed.histograms.filter { case (column, buckets) => read.ranges.get(column).forall(covers(buckets, _)) },
      analyzed.analyzed,
      read.textBounds,
      read.valueIndexes
    )
  }

  private def covers(buckets: Seq[KeyBucket], range: (Long, Long)): Boolean =
    buckets.headOption.exists(_.low <= range._1) && buckets.lastOption.exists(_.high >= range._2)

  /** The index of a table whose partitions the catalog keeps has only the files of the selected ones. */
  private def allBytes(scan: FileSourceScanExec): Option[Long] = scan.relation.location match {
    case index: InMemoryFileIndex if PartitionedTable.of(scan).isEmpty => Some(IndexedFiles.of(index).bytes)
    case _                                                             => None
  }
}

/** The files that a scan selects before it runs. */
object SelectedFiles {

  /** The conditions on partitions whose values are known before the query runs. */
  def conditions(scan: FileSourceScanExec): Seq[Expression] = scan.partitionFilters.filterNot(Conjuncts.isKnownLater)

  /** Their bytes and, where it is known, their number; none when the catalog has not been asked for the partitions, which may be many. */
  def of(scan: FileSourceScanExec): Option[DataFiles] = (scan.relation.location, conditions(scan)) match {
    case (index: InMemoryFileIndex, conditions) if conditions.nonEmpty => Try(IndexedPartitions.files(index, conditions)).toOption
    case (index, _)                                                    => all(index)
  }

  private def all(index: FileIndex): Option[DataFiles] = index match {
    case _: CatalogFileIndex       => None
    case listed: InMemoryFileIndex => Some(IndexedFiles.of(listed)).map(files => DataFiles(files.count.toLong, files.bytes))
    case other                     => Some(DataFiles(DeltaScan.selectedFiles(other).fold(0L)(_.toLong), other.sizeInBytes))
  }

  /** The number of data files that a scan of Iceberg's reads. */
  def numberOf(scan: Scan): Option[Long] = IcebergRead.of(scan).flatMap(read => Try(read.fileCount).toOption)

  /** The number of files that a plan's leaf reads, from what has been listed. */
  def listedOf(leaf: LogicalPlan): Option[Long] = leaf match {
    case relation: LogicalRelation => relation.relation match {
        case files: HadoopFsRelation => all(files.location).map(_.count)
        case _                       => None
      }
    case relation: DataSourceV2ScanRelation => numberOf(relation.scan)
    case _                                  => None
  }
}
