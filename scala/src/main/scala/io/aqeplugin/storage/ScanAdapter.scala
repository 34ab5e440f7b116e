package io.aqeplugin.storage

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, GreaterThanOrEqual, IsNull, LessThanOrEqual, Or}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, FileScan}

import io.aqeplugin.decide.Reason
import io.aqeplugin.exec.{ColumnKeys, FilterSummary}
import io.aqeplugin.observe.{JoinKey, TableStatistics}

/** Gives values that are known before a scan starts to its source, so that partitions, files, row groups and pages without a key are not
  * read.
  */
object ScanAdapter {
  private val Formats: Seq[KeyedFormat] =
    Seq(DeltaKeys, PartitionKeys, ParquetKeys, OrcKeys, IcebergKeys, DeltaV2Keys, BatchScanKeys, HiveKeys, CacheKeys)

  /** `scan`, reading less because each of its key columns must contain a value of one of the built keys; `scan` itself if its source
    * cannot use that. Of [[NumberedRows]], the scan below reads less.
    *
    * @param tables
    *   provides the ranges of the scanned columns
    * @param inListMaxKeys
    *   number of keys up to which readers of files get a list of them
    */
  def withKnownKeys(
      scan: SparkPlan,
      keys: Seq[Expression],
      built: FilterSummary,
      tables: TableStatistics,
      inListMaxKeys: Int
  ): SparkPlan = NumberedRows.scanOf(scan).fold(ofScan(scan, keys, built, tables, inListMaxKeys)) { read =>
    val own = keys.map(_.transform { case column: Attribute => read.output.find(_.exprId == column.exprId).getOrElse(column) })
    if (own.exists(!_.references.subsetOf(read.outputSet))) scan
    else scan.transform { case one if one eq read => ofScan(read, own, built, tables, inListMaxKeys) }
  }

  private def ofScan(
      scan: SparkPlan,
      keys: Seq[Expression],
      built: FilterSummary,
      tables: TableStatistics,
      inListMaxKeys: Int
  ): SparkPlan = {
    def known(column: Attribute, values: ColumnKeys): KnownKeys = KnownKeys(column, values, inListMaxKeys, isWholeKey = keys.size == 1)
    // Partitions come first: Delta's are chosen among the files that it has listed, which other conditions make it list anew.
    keys.zip(built.columns).sortBy(key => !PartitionRange.isPartition(scan, JoinKey.columnOf(key._1))).foldLeft(scan) {
      case (read, (column: Attribute, values)) => narrowed(read, known(column, values), tables)
      case (read, (computed, values))          => PartitionKeys.narrowed(read, computed, values).getOrElse {
          ColumnRange.of(computed, values.ranges).fold(read) { range =>
            narrowed(read, known(JoinKey.columnOf(computed), ColumnKeys(Seq(range), None)), tables)
          }
        }
    }
  }

  /** Why a source that could leave out files by keys of a column leaves out none; none if there is nothing to say. */
  def whyNothing(scan: SparkPlan, keys: Seq[Expression], built: FilterSummary): Option[Reason] =
    keys.zip(built.columns).collect { case (column: Attribute, values) => KnownKeys(column, values, Int.MaxValue, isWholeKey = true) }
      .flatMap(known => Formats.flatMap(_.whyNothing(scan, known))).headOption

  /** What a row of these columns fulfils if each has a value of the built keys: ordinary conditions, with no more than `mostListed` values
    * of a column.
    */
  def conditions(columns: Seq[Attribute], built: FilterSummary, mostListed: Int): Seq[Expression] =
    columns.zip(built.columns).flatMap { case (column, values) =>
      val known = KnownKeys(column, values.copy(ranges = values.span), mostListed, isWholeKey = columns.size == 1)
      known.isListed(mostListed).orElse(known.isInRanges)
    }

  private def narrowed(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): SparkPlan =
    Formats.iterator.flatMap(_.narrowed(scan, keys, tables)).nextOption().getOrElse(scan)

  /** Whether a scan reads the same files whenever it runs. A database may have other rows by then, and nothing is known of its bytes. */
  def readsSameFiles(scan: SparkPlan): Boolean = scan match {
    case _: FileSourceScanExec => true
    case batch: BatchScanExec  => batch.scan.isInstanceOf[FileScan] || IcebergColumns.isOne(batch.scan)
    case _                     => false
  }

  /** What a scan requires of the partitions that it reads, each of which has one value of the columns in the condition. */
  def partitionConditions(scan: SparkPlan): Seq[Expression] = scan match {
    case file: FileSourceScanExec => file.partitionFilters
    case batch: BatchScanExec     => batch.runtimeFilters.filter(BatchScanKeys.isOfWholePartitions(batch, _))
    case other                    => HiveScan.of(other).fold[Seq[Expression]](Nil)(_.partitionConditions)
  }

  /** Whether a scan leaves out whole partitions by the values of a key. */
  def prunesPartitions(scan: SparkPlan, key: Expression): Boolean = key match {
    case column: Attribute => PartitionRange.isPartition(scan, column) || BatchScanKeys.filters(scan, column)
    case computed          => PartitionKeys.canCompute(scan, computed)
  }

  /** A condition that all rows up to `bound` in the order of `column` fulfil, for the reader of the scan; none if its format cannot use it.
    */
  def upTo(scan: FileSourceScanExec, column: Attribute, bound: Long, descending: Boolean, nullsFirst: Boolean): Option[Expression] =
    KnownKeys.kept(bound, column.dataType).filter(_ => ParquetKeys.checksTypes(scan, column) && !PartitionRange.isPartition(scan, column))
      .map { last =>
        val upTo = if (descending) GreaterThanOrEqual(column, last) else LessThanOrEqual(column, last)
        if (nullsFirst) Or(IsNull(column), upTo) else upTo
      }
}
