package io.aqeplugin.filters

/** A hash set of codes that grows, laid out like [[ExactSet]]. Mutable; belongs to one thread.
  *
  * @param expected
  *   number of codes that it will hold, if that is below 64
  */
final class CodeTable(expected: Int) {
  private var table = new Array[Long](ExactSet.slotsFor(math.min(expected, 64)))
  // The first code is the filler of the empty slots and takes none itself, see ExactSet.
  private var filler = 0L
  private var count = 0

  def size: Int = count

  /** Adds `code` if it is missing; returns whether it was. */
  def add(code: Long): Boolean =
    if (count == 0) {
      filler = code
      count = 1
      java.util.Arrays.fill(table, filler)
      true
    } else if (ExactSet.insert(table, filler, code)) {
      count += 1
      if (count * 2 > table.length) grow()
      true
    } else false

  private def grow(): Unit = {
    val larger = Array.fill(table.length * 2)(filler)
    table.foreach(code => if (code != filler) ExactSet.insert(larger, filler, code))
    table = larger
  }

  /** The codes in ascending order, in a new array. */
  def sortedCodes: Array[Long] =
    if (count == 0) Array.emptyLongArray
    else {
      val codes = filler +: table.filter(_ != filler)
      java.util.Arrays.sort(codes)
      codes
    }
}
