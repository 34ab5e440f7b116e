package io.aqeplugin.exec

import io.aqeplugin.decide.Reason
import io.aqeplugin.filters.{AnyOf, FilterFormat, FilterKind, KeyFilter}

/** The result of a filter build: a filter, or the reason why there is none and every row passes. */
sealed trait BuiltFilter {

  /** The result without the bits of a large filter, which only tasks need. */
  def result: Either[Reason, FilterSummary]

  /** The broadcast bytes: the filter in its stored form, or nothing when there is no filter. */
  def bytes: Array[Byte]
}

object BuiltFilter {
  final case class Ready(filter: KeyFilter, summary: FilterSummary) extends BuiltFilter {
    def result: Either[Reason, FilterSummary] = Right(summary)
    def bytes: Array[Byte] = FilterFormat.write(filter)
  }

  final case class PassAll(reason: Reason) extends BuiltFilter {
    def result: Either[Reason, FilterSummary] = Left(reason)
    def bytes: Array[Byte] = Array.emptyByteArray
  }
}

/** What the driver keeps of a built filter.
  *
  * @param ranges
  *   disjoint ranges in ascending order that together hold all keys, each from its smallest to its largest key; none if codes are not the keys
  *   themselves, or there is none
  * @param values
  *   all keys in ascending order, if codes are the keys themselves and are at most [[FilterSummary.MaxValues]]
  * @param rows
  *   number of build rows without a null key
  * @param small
  *   the filter itself if it takes at most [[FilterSummary.MaxKeptBytes]], for values that the driver checks
  */
final case class FilterSummary(
    kind: String,
    sizeBytes: Long,
    ranges: Seq[(Long, Long)],
    values: Option[Seq[Long]],
    rows: Long,
    buildMillis: Long,
    small: Option[KeyFilter] = None
) {

  /** Without the ranges of the keys, if the filter passes values outside of them. */
  def ofFilterAlone: FilterSummary = if (kind == FilterKind.SplitBlockBloom.name) copy(ranges = Nil) else this

  /** Whether no key passes. */
  private def isEmpty: Boolean = values.exists(_.isEmpty)
}

object FilterSummary {

  /** So many keys are kept on the driver as long as the query runs. */
  val MaxValues = 10000

  /** So many bytes of a filter are kept on the driver as long as the query runs. */
  val MaxKeptBytes: Long = 1L << 20

  /** Ranges that a source compares with the statistics of each row group, page or partition. */
  val MaxRanges = 16

  /** A filter of more keys has one range: to find the gaps, the keys are sorted on the driver. */
  val MaxRangedKeys = 1L << 20

  /** What is known of the keys that pass one of two filters over the same keys. */
  def either(one: FilterSummary, other: FilterSummary): FilterSummary = {
    val values = for (a <- one.values; b <- other.values; all = (a ++ b).distinct.sorted if all.size <= MaxValues) yield all
    FilterSummary(
      AnyOf.Kind,
      one.sizeBytes + other.sizeBytes,
      hull(one, other),
      values,
      one.rows + other.rows,
      math.max(one.buildMillis, other.buildMillis),
      for (a <- one.small; b <- other.small) yield new AnyOf(Array(a, b))
    )
  }

  private def hull(one: FilterSummary, other: FilterSummary): Seq[(Long, Long)] =
    if (one.isEmpty) other.ranges
    else if (other.isEmpty) one.ranges
    else if (one.ranges.isEmpty || other.ranges.isEmpty) Nil
    else Seq((math.min(one.ranges.head._1, other.ranges.head._1), math.max(one.ranges.last._2, other.ranges.last._2)))
}
