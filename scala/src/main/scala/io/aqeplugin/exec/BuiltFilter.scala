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

  /** What an engine checks; the plugin's own operators have no filter of it. */
  final case class OfEngine(summary: FilterSummary) extends BuiltFilter {
    def result: Either[Reason, FilterSummary] = Right(summary)
    def bytes: Array[Byte] = Array.emptyByteArray
  }

  final case class PassAll(reason: Reason) extends BuiltFilter {
    def result: Either[Reason, FilterSummary] = Left(reason)
    def bytes: Array[Byte] = Array.emptyByteArray
  }
}

/** What the driver keeps of a built filter.
  *
  * @param columns
  *   of each column of the key
  * @param rows
  *   number of build rows without a null key
  * @param hashed
  *   the keys as an engine checks them
  */
final case class FilterSummary(
    kind: String,
    sizeBytes: Long,
    columns: Seq[ColumnKeys],
    rows: Long,
    buildMillis: Long,
    hashed: Option[HashedKeys] = None
) {

  /** Without what is known of the keys and not of the filter, which may pass other values. */
  def ofFilterAlone: FilterSummary = copy(columns = columns match {
    case Seq(_) if kind == HashedKeys.Kind => Seq(ColumnKeys.Unknown)
    case Seq(only) => Seq((if (kind == FilterKind.SplitBlockBloom.name) only.copy(ranges = Nil) else only).copy(texts = None))
    case several   => several.map(_ => ColumnKeys.Unknown)
  })
}

object FilterSummary {

  /** What is known of the keys that pass one of two filters over the same keys. */
  def either(one: FilterSummary, other: FilterSummary): FilterSummary = FilterSummary(
    AnyOf.Kind,
    one.sizeBytes + other.sizeBytes,
    one.columns.lazyZip(other.columns).map(ColumnKeys.either(_, _)),
    one.rows + other.rows,
    math.max(one.buildMillis, other.buildMillis)
  )
}
