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
      if (count * 2 > table.length) resize(table.length * 2)
      true
    } else false

  /** Moves codes that may be missing to the front of `codes` and returns their number; the others are in the table. */
  def moveStrangers(codes: Array[Long], count: Int): Int =
    if (this.count == 0) count else ExactSet.moveStrangers(table, filler, codes, count)

  /** Makes room for `codes` codes.
    *
    * To be called before codes are added in the order of another table: that is the order of their hashes, and in a table that is too small
    * for all of them the first ones would share few buckets, at a quadratic cost.
    */
  def reserve(codes: Int): Unit = {
    val slots = ExactSet.slotsFor(codes)
    if (slots > table.length) resize(slots)
  }

  private def resize(slots: Int): Unit = {
    val larger = new Array[Long](slots)
    java.util.Arrays.fill(larger, filler)
    var i = 0 // once per slot
    while (i < table.length) {
      if (table(i) != filler) ExactSet.insert(larger, filler, table(i))
      i += 1
    }
    table = larger
  }

  /** The codes in no order, in a new array. */
  def codes: Array[Long] = {
    val found = new Array[Long](count)
    if (count > 0) {
      found(0) = filler
      var next = 1
      var i = 0 // once per slot
      while (i < table.length) {
        if (table(i) != filler) { found(next) = table(i); next += 1 }
        i += 1
      }
    }
    found
  }

  /** The codes in ascending order, in a new array. */
  def sortedCodes: Array[Long] = {
    val sorted = codes
    java.util.Arrays.sort(sorted)
    sorted
  }
}
