package io.aqeplugin.storage

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{And, Attribute, Expression, GreaterThanOrEqual, In, IsNull, LessThanOrEqual, Literal, Or}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.CatalogFileIndex
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetUtils}
import org.apache.spark.sql.types._

import io.aqeplugin.exec.FilterSummary
import io.aqeplugin.observe.TableStatistics

/** Gives values that are known before a scan starts to its file format, so that partitions, row groups and pages without a key are not
  * read.
  */
object ScanAdapter {

  /** A range that excludes a smaller share of a column's values skips almost nothing, but the check has a cost: Parquet reads the
    * dictionary and the page index of every row group. On TPC-DS q19, scale 10, 1,836 keys spread over all items made the scan of
    * `store_sales` a fifth slower.
    */
  private val MinShareLeftOut = 0.1

  /** `scan`, reading less because its column must contain one of the built keys; `scan` itself if the format cannot use that.
    *
    * @param tables
    *   provides the ranges of the scanned columns
    */
  def withKnownKeys(scan: SparkPlan, columns: Seq[Attribute], built: FilterSummary, tables: TableStatistics): SparkPlan =
    (scan, columns) match {
      case (file: FileSourceScanExec, Seq(column)) if PartitionRange.isPartition(file, column) || checksTypes(file, column) =>
        condition(file, column, built, tables).fold(scan)(withCondition(file, column, _))
      case _ => scan
    }

  /** A condition that all rows up to `bound` in the order of `column` fulfil, for the reader of the scan; none if its format cannot use it. */
  def upTo(scan: FileSourceScanExec, column: Attribute, bound: Long, descending: Boolean, nullsFirst: Boolean): Option[Expression] =
    literal(
      bound,
      column.dataType
    ).filter(SourceLiterals.isKept(_) && checksTypes(scan, column) && !PartitionRange.isPartition(scan, column)).map {
      last =>
        val upTo = if (descending) GreaterThanOrEqual(column, last) else LessThanOrEqual(column, last)
        if (nullsFirst) Or(IsNull(column), upTo) else upTo
    }

  private def withCondition(scan: FileSourceScanExec, column: Attribute, condition: Expression): SparkPlan = {
    val pruned =
      if (PartitionRange.isPartition(scan, column)) scan.copy(partitionFilters = scan.partitionFilters :+ condition)
      else scan.copy(dataFilters = scan.dataFilters :+ condition)
    if (canListPartitions(pruned)) {
      // A copy of a leaf has no tags. Without its logical link, AQE could not tell which logical node the stage above it belongs to.
      scan.logicalLink.foreach(pruned.setLogicalLink)
      pruned
    } else scan
  }

  /** Whether the catalog accepts the conditions on partitions. Some metastores reject some types or long lists, which fails the query; they
    * are asked here and not when the scan starts.
    */
  private def canListPartitions(scan: FileSourceScanExec): Boolean = scan.relation.location match {
    case _: CatalogFileIndex => Try(scan.selectedPartitions).isSuccess
    case _                   => true
  }

  /** Spark cuts the integers of a file to a narrower column, and the ranges in the footer are those of the uncut ones. */
  private def isCut(dataType: DataType): Boolean = dataType == ByteType || dataType == ShortType

  /** Whether the format uses a value only for a column of the value's type that the scan reads. ORC fails the query when a file's column
    * has another type than the table's, which its own readers convert. Parquet ignores the precision of decimals and cuts the value to
    * it. Text formats only compare row by row, as the filter does anyway. A column that is read by its field id is pushed by name, which
    * may be another column's in a file.
    */
  private def checksTypes(scan: FileSourceScanExec, column: Attribute): Boolean =
    scan.relation.fileFormat.getClass == classOf[ParquetFileFormat] && !column.dataType.isInstanceOf[DecimalType] && !isCut(
      column.dataType
    ) &&
      !(scan.conf.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(scan.requiredSchema))

  private def condition(
      scan: FileSourceScanExec,
      column: Attribute,
      built: FilterSummary,
      tables: TableStatistics
  ): Option[Expression] = built.values match {
    case Some(values) if values.nonEmpty => literals(values, column.dataType).map(In(column, _))
    case _                               =>
      for {
        (low, high) <- built.keyRange
        if PartitionRange.isPartition(
          scan,
          column
        ) || tables.of(scan).flatMap(_.ranges.get(column.name)).forall(leavesOutEnough(_, low, high))
        // One end alone is right too: the other may lie outside of the column's type.
        from = Some(low).filter(_ > Long.MinValue).flatMap(kept(_, column.dataType)).map(GreaterThanOrEqual(column, _))
        upTo = Some(high).filter(_ < Long.MaxValue).flatMap(kept(_, column.dataType)).map(LessThanOrEqual(column, _))
        both <- (from ++ upTo).reduceOption[Expression](And(_, _))
      } yield both
  }

  private def leavesOutEnough(columnRange: (Long, Long), low: Long, high: Long): Boolean = {
    val (first, last) = columnRange
    val covered = math.min(last, high).toDouble - math.max(first, low).toDouble + 1
    covered < (1 - MinShareLeftOut) * (last.toDouble - first.toDouble + 1)
  }

  /** Key codes as literals of the scan's own type; none when one of them does not fit, which happens when a narrow column is joined to a
    * wider one.
    */
  private def literals(codes: Seq[Long], dataType: DataType): Option[Seq[Literal]] = {
    val made = codes.map(kept(_, dataType))
    if (made.forall(_.isDefined)) Some(made.flatten) else None
  }

  private def kept(code: Long, dataType: DataType): Option[Literal] = literal(code, dataType).filter(SourceLiterals.isKept)

  private def literal(code: Long, dataType: DataType): Option[Literal] = dataType match {
    case LongType | TimestampType | TimestampNTZType                                         => Some(Literal(code, dataType))
    case IntegerType | DateType if code == code.toInt                                        => Some(Literal(code.toInt, dataType))
    case ShortType if code == code.toShort                                                   => Some(Literal(code.toShort, dataType))
    case ByteType if code == code.toByte                                                     => Some(Literal(code.toByte, dataType))
    case BooleanType                                                                         => Some(Literal(code != 0L, dataType))
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS && fits(code, d.precision) =>
      Some(Literal(Decimal(code, d.precision, d.scale), dataType))
    case _ => None
  }

  private def fits(unscaled: Long, precision: Int): Boolean = BigInt(unscaled).abs < BigInt(10).pow(precision)
}
