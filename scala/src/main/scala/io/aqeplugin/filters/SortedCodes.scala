package io.aqeplugin.filters

import java.util.Arrays

/** Strictly ascending arrays of codes: the canonical form of a small set. */
private[aqeplugin] object SortedCodes {

  /** Those of an array in any order. */
  def ofAll(codes: Array[Long]): Array[Long] = {
    val sorted = codes.clone()
    Arrays.sort(sorted)
    distinct(sorted)
  }

  /** Drops repetitions from an ascending array. */
  def distinct(sorted: Array[Long]): Array[Long] = {
    val out = sorted.clone()
    var kept = math.min(1, sorted.length)
    var i = 1
    while (i < sorted.length) {
      if (sorted(i) != sorted(i - 1)) {
        out(kept) = sorted(i)
        kept += 1
      }
      i += 1
    }
    Arrays.copyOf(out, kept)
  }

  def isStrictlyAscending(codes: Array[Long]): Boolean = (1 until codes.length).forall(i => codes(i - 1) < codes(i))
}
