package io.aqeplugin.filters

/** The smallest and the largest key code of a set, both inclusive; `min <= max`.
  *
  * For a single integral, date, timestamp, boolean or short decimal key the bounds are key values and may be pushed into a
  * scan. For hashed keys they bound the hashes only and say nothing about the values.
  */
final case class CodeRange(min: Long, max: Long) {
  require(min <= max, s"empty code range [$min, $max]")

  def contains(code: Long): Boolean = min <= code && code <= max

  def union(other: CodeRange): CodeRange = CodeRange(math.min(min, other.min), math.max(max, other.max))

  /** Bytes of a bitmap with one bit for each code of the range, in whole 64-bit words. */
  def bitmapBytes: Long = bitmapWords * java.lang.Long.BYTES

  // Counted in words because max - min overflows for ranges wider than half the code space.
  private[filters] def bitmapWords: Long = (max >> 6) - (min >> 6) + 1
}

object CodeRange {

  /** The union of two ranges, each of which may be absent, which means "no code". */
  def union(a: Option[CodeRange], b: Option[CodeRange]): Option[CodeRange] = (a, b) match {
    case (Some(x), Some(y)) => Some(x.union(y))
    case _                  => a.orElse(b)
  }
}
