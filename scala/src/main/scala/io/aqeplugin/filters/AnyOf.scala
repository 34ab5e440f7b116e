package io.aqeplugin.filters

/** The union of several filters over the same keys: a key passes if it passes one of them.
  *
  * It has buffers for the rows of one batch. Unlike its members it must not be shared between threads, and it is never stored.
  */
final class AnyOf(private val members: Array[KeyFilter]) extends KeyFilter {
  override def kind: String = AnyOf.Kind

  /** Unions of the very same filters are equal: copies of a scan that are asked by one must stay equal. */
  override def equals(other: Any): Boolean = other match {
    case union: AnyOf => union.members.corresponds(members)(_ eq _)
    case _            => false
  }
  override def hashCode: Int = members.foldLeft(members.length)((hash, member) => 31 * hash + System.identityHashCode(member))

  override val sizeBytes: Long = members.map(_.sizeBytes).sum

  override def mightContain(code: Long): Boolean = {
    var i = 0 // once per row
    while (i < members.length && !members(i).mightContain(code)) i += 1
    i < members.length
  }

  // Mutable, and as long as the largest batch so far.
  private var rest = new Array[Int](0)
  private var passed = new Array[Int](0)

  /** Each member checks only the rows that no earlier one has passed. */
  override def retain(codes: Array[Long], positions: Array[Int], count: Int): Int = {
    if (rest.length < count) {
      rest = new Array[Int](count)
      passed = new Array[Int](count)
    }
    System.arraycopy(positions, 0, rest, 0, count)
    var left = count
    var i = 0
    while (i < members.length && left > 0) {
      System.arraycopy(rest, 0, passed, 0, left)
      left = AnyOf.without(rest, left, passed, members(i).retain(codes, passed, left))
      i += 1
    }
    AnyOf.without(positions, count, rest, left)
  }
}

object AnyOf {
  val Kind = "any_of"

  /** Drops from the front of `positions` those at the front of `dropped`, which are some of them in the same order; returns how many are
    * left.
    */
  private def without(positions: Array[Int], count: Int, dropped: Array[Int], droppedCount: Int): Int = {
    var kept = 0
    var d = 0
    var i = 0 // once per row
    while (i < count) {
      val position = positions(i)
      if (d < droppedCount && dropped(d) == position) d += 1
      else {
        positions(kept) = position
        kept += 1
      }
      i += 1
    }
    kept
  }
}
