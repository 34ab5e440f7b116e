package io.aqeplugin.filters

/** The kinds of filter, from the cheapest and sharpest down; `name` is what is logged and what [[KeyFilter.kind]] returns.
  *
  * @param formatId
  *   the number that stands for the kind in [[FilterFormat]]; never reused
  */
sealed abstract class FilterKind(val name: String, private[filters] val formatId: Byte)

object FilterKind {

  /** No key at all: nothing can match. */
  case object Empty extends FilterKind("empty", 1)

  /** A hash set of codes. */
  case object Exact extends FilterKind("exact", 2)

  /** One bit for each code between the smallest and the largest. */
  case object RangeBitmap extends FilterKind("range_bitmap", 3)

  /** A Bloom filter whose bits for one key lie in one 32-byte block. */
  case object SplitBlockBloom extends FilterKind("split_block_bloom", 4)

  val All: Seq[FilterKind] = Seq(Empty, Exact, RangeBitmap, SplitBlockBloom)
}
