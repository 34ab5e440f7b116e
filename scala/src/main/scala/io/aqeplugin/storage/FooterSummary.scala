package io.aqeplugin.storage

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.observe.ValueIndex

/** What a footer says of its file, for estimates: no row is left out because of it, so its statistics need not be trusted.
  *
  * @param ranges
  *   smallest and largest value by column name, in the units of the table's type; none for a column that has none, or whose type has no order of
  *   whole numbers
  * @param groups
  *   the row groups, of which one may be read by itself; none of ORC
  * @param chunkBytes
  *   bytes of the largest chunk of each column of a row group, by the name in the file
  * @param texts
  *   as [[TextBounds.of]]
  * @param valueIndexes
  *   by column name; none for a column that a row group has no index of
  */
private[storage] final case class FooterSummary(
    rows: Long,
    ranges: Map[String, Option[(Long, Long)]],
    groups: Seq[RowGroup] = Nil,
    chunkBytes: Map[String, Long] = Map.empty,
    texts: Map[String, Seq[Option[(UTF8String, UTF8String)]]] = Map.empty,
    valueIndexes: Map[String, Option[ValueIndex]] = Map.empty
)

/** @param middle
  *   the place in the file by which Spark tells in which split a row group is
  */
private[storage] final case class RowGroup(middle: Long, rows: Long)

private[storage] object FooterSummary {

  /** Reads a footer with the query's conf, for the columns of the table. */
  type Reader = (FileStatus, Configuration, StructType) => FooterSummary

  def reader(format: FileFormat): Option[Reader] = format match {
    case _: ParquetFileFormat => Some(ParquetFooter.summary)
    case _: OrcFileFormat     => Some(OrcFooter.summary)
    case _                    => None
  }

  /** The ranges of the columns that have one in every file that has the column. */
  def ranges(footers: Seq[FooterSummary]): Map[String, (Long, Long)] =
    footers.flatMap(_.ranges).groupMap(_._1)(_._2).flatMap { case (column, found) => covering(found).map(column -> _) }

  /** Smallest and largest text of each column in some of the row groups, evenly spread; none where a row group does not tell. */
  def texts(footers: Seq[FooterSummary]): Map[String, Seq[Option[(UTF8String, UTF8String)]]] =
    footers.flatMap(_.texts).groupMap(_._1)(_._2).map { case (column, found) =>
      val all = found.flatten.toIndexedSeq
      column -> FooterStatistics.spread(all.size, MostTextBounds).map(all)
    }

  /** What every row group of a column has, by the one that takes longest to search. */
  def valueIndexes(footers: Seq[FooterSummary]): Map[String, ValueIndex] =
    footers.flatMap(_.valueIndexes).groupMap(_._1)(_._2).flatMap { case (column, found) => slowest(found).map(column -> _) }

  def slowest(indexes: Seq[Option[ValueIndex]]): Option[ValueIndex] = Option.when(indexes.nonEmpty && indexes.forall(_.isDefined)) {
    indexes.flatten.maxBy {
      case ValueIndex.BloomFilter                => 0L
      case ValueIndex.Dictionary(distinctValues) => distinctValues
    }
  }

  /** They are kept of every column of a table. */
  private val MostTextBounds = 32

  /** The range of all values; none when one of the ranges is unknown. */
  def covering[A: Ordering](ranges: Seq[Option[(A, A)]]): Option[(A, A)] =
    Option.when(ranges.nonEmpty && ranges.forall(_.isDefined))((ranges.flatten.map(_._1).min, ranges.flatten.map(_._2).max))
}
