package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.catalog.CatalogStatistics
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.decide.{KeyBucket, RowEstimate}

/** What is known of a table without a job.
  *
  * @param rows
  *   rows of the whole table, before a scan leaves out partitions or files
  * @param bytes
  *   bytes of all its files
  * @param ranges
  *   smallest and largest value of columns whose type has an order of whole numbers, by column name: days of dates, microseconds of timestamps;
  *   of a table whose scan selects files, maybe those of the selected files
  * @param distinct
  *   distinct values of columns, by column name
  * @param histograms
  *   buckets of integer and date columns, ascending, by column name; neighbours may share an end
  * @param analyzed
  *   what `ANALYZE TABLE` left in the catalog, of all partitions
  * @param textBounds
  *   smallest and largest text of columns in some of the row groups, by column name, cut to their beginnings; none where a row group does not tell
  * @param valueIndexes
  *   by column name, what each row group has to tell whether it has a value
  */
final case class TableFacts(
    rows: Option[RowEstimate],
    bytes: Option[Long] = None,
    ranges: Map[String, (Long, Long)] = Map.empty,
    distinct: Map[String, Long] = Map.empty,
    histograms: Map[String, Seq[KeyBucket]] = Map.empty,
    analyzed: Option[CatalogStatistics] = None,
    textBounds: Map[String, Seq[Option[(UTF8String, UTF8String)]]] = Map.empty,
    valueIndexes: Map[String, ValueIndex] = Map.empty
)

object TableFacts {
  val Unknown: TableFacts = TableFacts(None)
}

/** What a row group has to tell, of a value within the range of a column, that no row has it. */
sealed trait ValueIndex

object ValueIndex {

  /** A Bloom filter, which somebody has asked for, to look up values of this column. */
  case object BloomFilter extends ValueIndex

  /** A dictionary of all values.
    *
    * @param distinctValues
    *   about how many values the largest of them has
    */
  final case class Dictionary(distinctValues: Long) extends ValueIndex
}

/** A source of facts about tables and about what a scan reads of them. */
trait TableStatistics {

  /** Facts of the scanned table; `None` when nothing is known. */
  def of(scan: SparkPlan): Option[TableFacts]

  /** Bytes of the files in the partitions that the scan selects before it runs; none when they are not listed yet. */
  def bytesRead(scan: FileSourceScanExec): Option[Long] = Some(scan.relation.sizeInBytes)

  /** The number of files that the scan reads, as far as it is known before it runs. */
  def filesRead(scan: SparkPlan): Option[Long] = { val _ = scan; None }
}

object TableStatistics {

  /** Has no facts about any table. */
  val None: TableStatistics = _ => scala.None
}
