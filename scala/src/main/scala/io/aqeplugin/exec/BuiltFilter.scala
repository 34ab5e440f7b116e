package io.aqeplugin.exec

import io.aqeplugin.decide.Reason
import io.aqeplugin.filters.{FilterFormat, KeyFilter}

/** What comes of a filter build: a filter, or word that there is none and every row passes. */
sealed trait BuiltFilter {

  /** The same without the filter's bits, which only tasks need. */
  def result: Either[Reason, FilterSummary]

  /** What is broadcast: the filter's stored form, or no byte when there is none. */
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

/** What the driver keeps of a filter that was built.
  *
  * @param keyRange
  *   smallest and largest key, when codes are the keys themselves and there is at least one
  * @param values
  *   all keys in ascending order, when codes are the keys themselves and they are few enough for an IN list
  * @param rows
  *   build rows without a null key
  */
final case class FilterSummary(
    kind: String,
    sizeBytes: Long,
    keyRange: Option[(Long, Long)],
    values: Option[Seq[Long]],
    rows: Long,
    buildMillis: Long
)
