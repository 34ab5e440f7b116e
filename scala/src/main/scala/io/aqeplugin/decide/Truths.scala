package io.aqeplugin.decide

/** The values that a condition may have on some rows, in three-valued logic. A value that cannot occur may be listed; one that can occur is
  * never missing.
  */
final case class Truths(canBeTrue: Boolean, canBeFalse: Boolean, canBeNull: Boolean) {

  def unary_! : Truths = Truths(canBeFalse, canBeTrue, canBeNull)

  def &&(other: Truths): Truths = Truths(
    canBeTrue = canBeTrue && other.canBeTrue,
    canBeFalse = canBeFalse || other.canBeFalse,
    canBeNull = (canBeNull && (other.canBeNull || other.canBeTrue)) || (other.canBeNull && canBeTrue)
  )

  /** The values of rows of either kind. */
  def |(other: Truths): Truths =
    Truths(canBeTrue || other.canBeTrue, canBeFalse || other.canBeFalse, canBeNull || other.canBeNull)

  def ||(other: Truths): Truths = !(!this && !other)
}

object Truths {
  val Any: Truths = Truths(canBeTrue = true, canBeFalse = true, canBeNull = true)
  val Null: Truths = Truths(canBeTrue = false, canBeFalse = false, canBeNull = true)

  def of(value: Boolean): Truths = Truths(canBeTrue = value, canBeFalse = !value, canBeNull = false)
}

/** The values of a column in one file, or of a constant.
  *
  * @param range
  *   bounds of the values that are not null, both included; none when there are no such values
  */
final case class ValueRange(range: Option[(Long, Long)], mayBeNull: Boolean) {

  private def compare(other: ValueRange)(canBeTrue: ((Long, Long), (Long, Long)) => Boolean): Truths = {
    val nulls = mayBeNull || other.mayBeNull || range.isEmpty || other.range.isEmpty
    (range, other.range) match {
      case (Some(left), Some(right)) => Truths(canBeTrue(left, right), canBeFalse = true, nulls)
      case _                         => Truths.Null
    }
  }

  private def and(truths: Truths, canBeFalse: => Boolean): Truths =
    if (range.isEmpty) truths else truths.copy(canBeFalse = truths.canBeFalse && canBeFalse)

  private def low: Long = range.fold(0L)(_._1)
  private def high: Long = range.fold(0L)(_._2)

  def <(other: ValueRange): Truths = and(compare(other)((l, r) => l._1 < r._2), high >= other.low)
  def <=(other: ValueRange): Truths = and(compare(other)((l, r) => l._1 <= r._2), high > other.low)

  def ===(other: ValueRange): Truths =
    and(compare(other)((l, r) => l._1 <= r._2 && r._1 <= l._2), !(low == high && other.low == other.high && low == other.low))

  /** Whether the values are among those of a list.
    *
    * @param sorted
    *   the values of the list, ascending
    * @param hasNull
    *   whether the list has a null too: then no value is surely not in it
    */
  def isIn(sorted: IndexedSeq[Long], hasNull: Boolean): Truths = range.fold(Truths.Null) { case (low, high) =>
    val first = sorted.search(low).insertionPoint
    val meets = first < sorted.size && sorted(first) <= high
    val isOnly = meets && low == high
    Truths(canBeTrue = meets, canBeFalse = !isOnly && !hasNull, canBeNull = mayBeNull || hasNull && !isOnly)
  }

  def isNull: Truths = Truths(canBeTrue = mayBeNull || range.isEmpty, canBeFalse = range.isDefined, canBeNull = false)
}

object ValueRange {
  def constant(value: Long): ValueRange = ValueRange(Some((value, value)), mayBeNull = false)
}
