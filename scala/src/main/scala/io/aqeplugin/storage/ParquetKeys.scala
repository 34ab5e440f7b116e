package io.aqeplugin.storage

import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Literal}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetUtils}
import org.apache.spark.sql.types._

import io.aqeplugin.observe.{TableStatistics, ValueIndex}

/** Row groups and pages of Parquet files: the reader skips those whose statistics or dictionary exclude all keys. */
private[aqeplugin] object ParquetKeys extends KeyedFormat {

  /** Ranges that exclude a smaller share of a column's values skip almost nothing, but the check has a cost: Parquet reads the
    * dictionary and the page index of every row group. On TPC-DS q19, scale 10, 1,836 keys spread over all items made the scan of
    * `store_sales` a fifth slower.
    */
  private val MinShareLeftOut = 0.1

  /** So few keys are listed whatever is known of the column. */
  private val AlwaysListed = 50

  /** The largest part of a column's values that a row group's dictionary may have, for a search in it to promise anything; not measured. */
  private val MaxShareInDictionary = 0.25

  override def narrowed(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Option[SparkPlan] = scan match {
    case file: FileSourceScanExec if checksTypes(file, keys.column) && !PartitionRange.isPartition(file, keys.column) =>
      val found = conditions(file, keys, tables)
      Option.when(found.nonEmpty)(KeyedFormat.linked(file, ThisSparkLine.withDataFilters(file, found)))
    case file: FileSourceScanExec if leavesOutDecimals(file, keys, tables) =>
      val found = listed(file, keys, tables).map(KeyFilters.listed(_, keys.column.name)) ++: KeyFilters.outsideGaps(keys)
      Option.when(found.nonEmpty)(FormatByTypes.reading(file, KeyedParquetFormat.Empty, found, keys.column))
    case _ => None
  }

  /** Whether files without a key may be left out by their footers, as far as the column and the conf tell. */
  def usesBounds(scan: FileSourceScanExec, column: Attribute): Boolean = scan.conf.parquetFilterPushDown &&
    !PartitionRange.isPartition(scan, column) && (checksTypes(scan, column) || readsDecimals(scan, column))

  /** Whether the format uses a value only for a column of the value's type that the scan reads. ORC fails the query when a file's column
    * has another type than the table's, which its own readers convert. Parquet ignores the precision of decimals and cuts the value to
    * it. Text formats only compare row by row, as the filter does anyway.
    */
  def checksTypes(scan: FileSourceScanExec, column: Attribute): Boolean =
    isRead(scan) && !column.dataType.isInstanceOf[DecimalType] && !isCut(column.dataType)

  /** Whether the files are Parquet's, and their columns go by their names. A column that is read by its field id is pushed by name, which may be another
    * column's in a file.
    */
  private def isRead(scan: FileSourceScanExec): Boolean = {
    val isParquet = FormatByTypes.plain(scan.relation.fileFormat).getClass == classOf[ParquetFileFormat]
    isParquet && !(scan.conf.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(scan.requiredSchema)) && !skipsDamage(scan.relation)
  }

  /** Whether decimal keys are known to leave out enough that each task may read the end of its file once more, to compare its type. */
  private def leavesOutDecimals(scan: FileSourceScanExec, keys: KnownKeys, tables: TableStatistics): Boolean =
    readsDecimals(scan, keys.column) && !PartitionRange.isPartition(
      scan,
      keys.column
    ) && keys.built.ranges.nonEmpty && tables.of(scan).exists(_.ranges.contains(keys.column.name)) && leavesOutEnough(scan, keys, tables)

  /** Whether Spark leaves out the rest of a file after a damaged page. If nobody reads that page, the rows behind it appear. */
  def skipsDamage(files: HadoopFsRelation): Boolean = new FileSourceOptions(files.options).ignoreCorruptFiles

  private def readsDecimals(scan: FileSourceScanExec, column: Attribute): Boolean =
    column.dataType.isInstanceOf[DecimalType] && isRead(scan) && KeyFilters.isPlain(column.name) && scan.conf.parquetFilterPushDown &&
      scan.conf.parquetFilterPushDownDecimal

  /** Spark cuts the integers of a file to a narrower column, and the ranges in the footer are those of the uncut ones. */
  private def isCut(dataType: DataType): Boolean = dataType == ByteType || dataType == ShortType

  /** What the reader is told. A list of more than a few values is to Parquet's statistics only the range from the first to the last of them;
    * for dictionaries it is what it says.
    */
  def conditions(scan: FileSourceScanExec, keys: KnownKeys, tables: TableStatistics): Seq[Expression] =
    listed(scan, keys, tables) match {
      case Some(values) if values.size <= scan.conf.parquetFilterPushDownInFilterThreshold => Seq(keys.isOneOf(values))
      case Some(values) if keys.areTexts                                                   => keys.isOneOf(values) +: keys.isInRanges.toSeq
      case found => found.map(keys.isOneOf).toSeq ++ inRanges(scan, keys, tables)
    }

  /** All keys, if a reader of files may get a list of them. Many of them, and those of one column of several, must not be known to leave out nothing. */
  def listed(scan: FileSourceScanExec, keys: KnownKeys, tables: TableStatistics): Option[Seq[Literal]] =
    keys.literals.filter(_.size <= keys.inListMaxKeys).filter { values =>
      areAlwaysListed(keys, values) || leavesOutEnough(scan, keys, tables) || areIndexed(scan, keys, tables)
    }

  def areAlwaysListed(keys: KnownKeys, values: Seq[Any]): Boolean = keys.isWholeKey && values.size <= AlwaysListed

  /** Whether row groups may lack the keys although they lie in their ranges, and can tell. Where each dictionary has a good part of the column's values,
    * hardly one lacks all keys.
    */
  private def areIndexed(scan: FileSourceScanExec, keys: KnownKeys, tables: TableStatistics): Boolean =
    tables.of(scan).exists(facts =>
      facts.valueIndexes.get(keys.column.name).exists {
        case ValueIndex.BloomFilter                => true
        case ValueIndex.Dictionary(distinctValues) => facts.ranges.get(keys.column.name).exists { case (first, last) =>
            distinctValues <= MaxShareInDictionary * (last.toDouble - first.toDouble + 1)
          }
      }
    )

  /** The column lies in the ranges of the keys, if that leaves out enough of it. */
  def inRanges(scan: FileSourceScanExec, keys: KnownKeys, tables: TableStatistics): Option[Expression] =
    if (leavesOutEnough(scan, keys, tables)) keys.isInRanges else None

  /** Whether the ranges of the keys leave out a part of the column's range that is worth a check, as far as that is known. Texts have no share of a
    * range, so they must leave out row groups of which it is known.
    */
  def leavesOutEnough(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Boolean =
    if (keys.areTexts) leavesOutGroups(scan, keys, tables) else leavesOutValues(scan, keys, tables)

  private def leavesOutGroups(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Boolean =
    tables.of(scan).flatMap(_.textBounds.get(keys.column.name))
      .exists(groups => keys.built.texts.isDefined && TextBounds.shareLeftOut(groups, keys.built.textRanges) >= MinShareLeftOut)

  private def leavesOutValues(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Boolean =
    tables.of(scan).flatMap(_.ranges.get(keys.column.name)).forall { case (first, last) =>
      val covered = keys.built.ranges.map { case (low, high) =>
        math.max(0.0, math.min(last, high).toDouble - math.max(first, low).toDouble + 1)
      }.sum
      covered < (1 - MinShareLeftOut) * (last.toDouble - first.toDouble + 1)
    }
}
