package io.aqeplugin.exec

import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.filters.KeyRanges

/** Few ranges that hold some texts, in the order of their bytes. */
private[exec] object TextRanges {

  /** At most `most` disjoint ranges in ascending order that together contain every text; they end where neighbours are far apart by the bytes
    * after what all texts begin with.
    *
    * @param sorted
    *   in ascending order, without repetition
    */
  def of(sorted: IndexedSeq[UTF8String], most: Int): Seq[(UTF8String, UTF8String)] = {
    val common = if (sorted.isEmpty) 0 else sharedBytes(sorted.head, sorted.last)
    val places = sorted.map(place(_, common))
    val ranges = KeyRanges.of(places.distinct.toArray, most)
    ranges.map(range => (sorted(places.indexOf(range.min)), sorted(places.lastIndexOf(range.max))))
  }

  private def sharedBytes(one: UTF8String, other: UTF8String): Int = one.getBytes.zip(other.getBytes).takeWhile { case (a, b) =>
    a == b
  }.length

  /** The bytes from `from` as a number that has the order of the texts; texts with equal ones have one place. */
  private def place(text: UTF8String, from: Int): Long = {
    val bytes = text.getBytes
    (from until from + PlaceBytes).foldLeft(0L)((number, i) => (number << 8) | (if (i < bytes.length) bytes(i) & 0xffL else 0L))
  }

  /** One less than a `Long` has, so that no place is negative. */
  private val PlaceBytes = 7
}
