package io.aqeplugin.filters

/** A comparison of a probe column with a build column plus a constant.
  *
  * @param column
  *   number of the build column
  * @param isLower
  *   whether the probe column is at least the sum; otherwise it is at most the sum
  */
final case class RangeBound(column: Int, isLower: Boolean, offset: Long)

/** The comparisons that hold together for a probe row and its partner. */
final case class RangeBounds(bounds: Seq[RangeBound]) {

  /** A range of all probe values that have a partner among rows with these extremes; none if no value has one. */
  def range(extremes: ColumnExtremes): Option[CodeRange] = {
    val low = bounds.filter(_.isLower).map(bound => RangeBounds.plus(extremes.least(bound.column), bound.offset))
    val high = bounds.filterNot(_.isLower).map(bound => RangeBounds.plus(extremes.greatest(bound.column), bound.offset))
    val min = low.maxOption.getOrElse(Long.MinValue)
    val max = high.minOption.getOrElse(Long.MaxValue)
    if (extremes.rows == 0 || min > max) None else Some(CodeRange(min, max))
  }
}

object RangeBounds {

  /** The sum, or the last 64-bit number in its direction. */
  private def plus(code: Long, offset: Long): Long = {
    val sum = code + offset
    if (((code ^ sum) & (offset ^ sum)) >= 0) sum else if (offset > 0) Long.MaxValue else Long.MinValue
  }
}

/** The smallest and the largest code of each column over some rows.
  *
  * @param rows
  *   number of rows; without rows, the codes mean nothing
  */
final case class ColumnExtremes(rows: Long, least: Seq[Long], greatest: Seq[Long]) {

  def merge(other: ColumnExtremes): ColumnExtremes =
    if (rows == 0) other
    else if (other.rows == 0) this
    else
      ColumnExtremes(
        rows + other.rows,
        least.lazyZip(other.least).map(math.min(_, _)),
        greatest.lazyZip(other.greatest).map(math.max(_, _))
      )
}

object ColumnExtremes {
  def none(columns: Int): ColumnExtremes = ColumnExtremes(0L, Seq.fill(columns)(0L), Seq.fill(columns)(0L))
}

/** Collects the extremes of rows, one row at a time; belongs to one thread. */
final class ExtremesCollector(columns: Int) {
  private val least = Array.fill(columns)(Long.MaxValue)
  private val greatest = Array.fill(columns)(Long.MinValue)
  private var rows = 0L

  /** Adds a row by the codes of its columns, none of which is null. */
  def add(codes: Array[Long]): Unit = {
    var i = 0 // once per row and column
    while (i < columns) {
      val value = codes(i)
      if (value < least(i)) least(i) = value
      if (value > greatest(i)) greatest(i) = value
      i += 1
    }
    rows += 1
  }

  def result: ColumnExtremes =
    if (rows == 0) ColumnExtremes.none(columns) else ColumnExtremes(rows, least.toSeq, greatest.toSeq)
}
