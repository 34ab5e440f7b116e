package io.aqeplugin.filters

import io.aqeplugin.conf.Named

/** The kinds of filter, from the cheapest and most precise down; `name` is logged, and [[KeyFilter.kind]] returns it.
  *
  * @param formatId
  *   the number of the kind in [[FilterFormat]]; never reused
  */
sealed abstract class FilterKind(val name: String, private[filters] val formatId: Byte) extends Named

object FilterKind {

  /** No key at all: nothing can match. */
  case object Empty extends FilterKind("empty", 1)

  /** A hash set of codes. */
  case object Exact extends FilterKind("exact", 2)

  /** One bit for each code from the smallest to the largest. */
  case object RangeBitmap extends FilterKind("range_bitmap", 3)

  /** A Bloom filter whose bits for one key lie in one 32-byte block. */
  case object SplitBlockBloom extends FilterKind("split_block_bloom", 4)

  /** Every code from the smallest to the largest. */
  case object Range extends FilterKind("range", 5)

  val All: Seq[FilterKind] = Seq(Empty, Exact, RangeBitmap, SplitBlockBloom, Range)
}
