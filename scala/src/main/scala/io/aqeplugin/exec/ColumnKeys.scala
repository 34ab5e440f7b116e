package io.aqeplugin.exec

import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.filters.{AnyOf, CodeRange, EmptySet, ExactSet, KeyFilter, KeyRanges}
import io.aqeplugin.sketch.ColumnSketch

/** What the driver knows of the values that the keys of a filter have in one of their columns. A row with a partner has one of them.
  *
  * @param ranges
  *   disjoint ranges in ascending order that together hold all values, each from its smallest to its largest value; none if codes are not
  *   values, or there is none
  * @param values
  *   all values in ascending order, if codes are values and they are at most [[ColumnKeys.MaxValues]]
  * @param texts
  *   all values, if they are texts and few; their codes are hashes
  * @param small
  *   a filter that passes them all and takes at most [[ColumnKeys.MaxKeptBytes]], for values that the driver checks
  */
final case class ColumnKeys(
    ranges: Seq[(Long, Long)],
    values: Option[Seq[Long]],
    small: Option[KeyFilter] = None,
    texts: Option[Seq[UTF8String]] = None
) {

  /** Disjoint ranges in ascending order that together hold all texts, as `ranges` hold values. */
  lazy val textRanges: Seq[(UTF8String, UTF8String)] =
    texts.fold(Seq.empty[(UTF8String, UTF8String)])(all => TextRanges.of(all.sorted.toIndexedSeq, ColumnKeys.MaxRanges))

  /** The range from the smallest to the largest value, if there are ranges. */
  def span: Seq[(Long, Long)] = ranges.headOption.zip(ranges.lastOption).map { case (first, last) => (first._1, last._2) }.toSeq

  /** Whether no key passes. */
  def isEmpty: Boolean = values.exists(_.isEmpty)
}

object ColumnKeys {

  /** So many values are kept on the driver as long as the query runs. */
  val MaxValues = 10000

  /** So many bytes of a filter are kept on the driver as long as the query runs. */
  val MaxKeptBytes: Long = 1L << 20

  /** Ranges that a source compares with the statistics of each row group, page or partition. */
  private val MaxRanges = 16

  /** More values have one range: to find the gaps, they are sorted on the driver. */
  val MaxRangedKeys = 1L << 20

  /** Nothing is known. */
  val Unknown: ColumnKeys = ColumnKeys(Nil, None)

  /** All values, in strictly ascending order. */
  def ofValues(sorted: Array[Long], small: Option[KeyFilter]): ColumnKeys =
    ColumnKeys(ends(KeyRanges.of(sorted, MaxRanges)), Option.when(sorted.length <= MaxValues)(sorted.toSeq), small)

  /** Of values, their range; of hashes, nothing, whose filter may still be asked. */
  def ofRange(range: Option[CodeRange], small: Option[KeyFilter]): ColumnKeys = ColumnKeys(ends(range.toSeq), None, small)

  /** One column of a key of several. Its filter holds this column alone, and is not the filter of the key. */
  def ofSketch(column: ColumnSketch, areValues: Boolean): ColumnKeys = {
    val sorted = column.codes.map(_.sorted)
    val small = sorted.map(codes => ExactSet.of(codes).getOrElse(EmptySet))
    sorted.filter(_ => areValues).fold(ofRange(column.range, small))(ofValues(_, small))
  }

  /** What is known of the values that pass one of two filters. */
  def either(one: ColumnKeys, other: ColumnKeys): ColumnKeys = ColumnKeys(
    hull(one, other),
    for (a <- one.values; b <- other.values; all = (a ++ b).distinct.sorted if all.size <= MaxValues) yield all,
    for (a <- one.small; b <- other.small) yield new AnyOf(Array(a, b)),
    for (a <- one.texts; b <- other.texts; all = (a ++ b).distinct if all.size <= MaxValues) yield all
  )

  private def hull(one: ColumnKeys, other: ColumnKeys): Seq[(Long, Long)] =
    if (one.isEmpty) other.ranges
    else if (other.isEmpty) one.ranges
    else if (one.ranges.isEmpty || other.ranges.isEmpty) Nil
    else Seq((math.min(one.ranges.head._1, other.ranges.head._1), math.max(one.ranges.last._2, other.ranges.last._2)))

  private def ends(ranges: Seq[CodeRange]): Seq[(Long, Long)] = ranges.map(range => (range.min, range.max))
}
