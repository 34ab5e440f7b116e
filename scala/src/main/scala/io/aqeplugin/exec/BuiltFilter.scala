package io.aqeplugin.exec

import io.aqeplugin.decide.Reason
import io.aqeplugin.filters.{AnyOf, FilterFormat, KeyFilter}

/** The result of a filter build: a filter, or the reason why there is none and every row passes. */
sealed trait BuiltFilter {

  /** The result without the filter's bits, which only tasks need. */
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
  * @param keyRange
  *   smallest and largest key, if codes are the keys themselves and there is at least one
  * @param values
  *   all keys in ascending order, if codes are the keys themselves and are few enough for an IN list
  * @param rows
  *   number of build rows without a null key
  */
final case class FilterSummary(
    kind: String,
    sizeBytes: Long,
    keyRange: Option[(Long, Long)],
    values: Option[Seq[Long]],
    rows: Long,
    buildMillis: Long
) {

  /** Whether no key passes. */
  private def isEmpty: Boolean = values.exists(_.isEmpty)
}

object FilterSummary {

  /** What is known of the keys that pass one of two filters over the same keys.
    *
    * @param maxValues
    *   the number of keys that may be named one by one
    */
  def either(one: FilterSummary, other: FilterSummary, maxValues: Int): FilterSummary = {
    val values = for (a <- one.values; b <- other.values; all = (a ++ b).distinct.sorted if all.size <= maxValues) yield all
    val range =
      if (one.isEmpty) other.keyRange
      else if (other.isEmpty) one.keyRange
      else
        for ((low, high) <- one.keyRange; (otherLow, otherHigh) <- other.keyRange) yield (math.min(low, otherLow), math.max(high, otherHigh))
    FilterSummary(
      AnyOf.Kind,
      one.sizeBytes + other.sizeBytes,
      range,
      values,
      one.rows + other.rows,
      math.max(one.buildMillis, other.buildMillis)
    )
  }
}
