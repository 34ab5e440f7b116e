package io.aqeplugin.filters

/** Which kind of filter holds a set of keys. From the top, the first that applies:
  *
  *   1. `empty`: no key.
  *   1. `exact`: at most [[exactKeys]] different keys – or `range_bitmap` for them, when the keys are integral and the
  *      bitmap is no larger than the hash set would be.
  *   1. `range_bitmap`: integral keys whose bitmap is smaller than the Bloom filter would be, and under the cap.
  *   1. `split_block_bloom`, sized for `limits.expectedKeys`, when it is under the cap.
  *   1. Otherwise none: [[FilterRefusal.TooManyBytes]].
  *
  * A part of a filter climbs down the same ladder, but keeps codes as they are for as long as they take less memory than the
  * Bloom filter that would replace them ([[partExactKeys]]): with many tasks of few keys each, a Bloom filter for all keys in
  * every task would be most of the cost. The finished filter is then chosen, and sized, by the keys that really came.
  *
  * The answer depends on the set of keys and the limits alone, and only ever moves down as keys are added. This is what
  * makes merging the parts of several tasks associative and commutative.
  */
object FilterLadder {

  /** @param distinctKeys
    *   different keys, not fewer than there are
    * @param range
    *   bounds of their codes; absent when there is no key or the bounds are unknown
    * @param integral
    *   whether codes are the values of an integral key, so that they may be dense
    */
  def choose(distinctKeys: Long, range: Option[CodeRange], integral: Boolean, limits: FilterLimits): Either[FilterRefusal, FilterKind] =
    if (distinctKeys == 0) Right(FilterKind.Empty)
    else {
      val bitmapBytes = range.filter(_ => integral).map(_.bitmapBytes).getOrElse(Long.MaxValue)
      if (distinctKeys <= exactKeys(limits))
        Right(if (bitmapBytes <= ExactSet.bytesFor(distinctKeys.toInt)) FilterKind.RangeBitmap else FilterKind.Exact)
      else if (bitmapBytes <= bitmapBytesLimit(limits)) Right(FilterKind.RangeBitmap)
      else bloomBlocks(limits).map(_ => FilterKind.SplitBlockBloom)
    }

  /** Up to this many different keys are kept exactly: `limits.exactMaxKeys`, fewer when their hash set breaks the cap. */
  def exactKeys(limits: FilterLimits): Int = math.min(limits.exactMaxKeys, ExactSet.keysWithin(limits.capBytes))

  /** Up to this many different keys a part keeps exactly: as many as a hash set of the Bloom filter's size holds, and no
    * fewer than [[exactKeys]].
    */
  private[filters] def partExactKeys(limits: FilterLimits): Int = {
    val bytes = math.min(limits.capBytes, BloomSizing.bytesFor(limits.expectedKeys, limits.falsePositiveRate))
    math.max(exactKeys(limits), ExactSet.keysWithin(bytes))
  }

  /** Largest stored part, up to its header. */
  def partBytes(limits: FilterLimits): Long =
    math.max(
      partExactKeys(limits).toLong * java.lang.Long.BYTES,
      math.min(limits.capBytes, BloomSizing.bytesFor(limits.expectedKeys, limits.falsePositiveRate))
    )

  /** The kind for keys of which the number is known. */
  private[filters] def chooseCounted(distinctKeys: Long, range: Option[CodeRange], integral: Boolean, limits: FilterLimits) =
    choose(distinctKeys, range, integral, limits.copy(expectedKeys = math.min(limits.expectedKeys, distinctKeys)))

  /** Largest bitmap that is taken instead of a Bloom filter. */
  private[filters] def bitmapBytesLimit(limits: FilterLimits): Long =
    math.min(limits.capBytes, BloomSizing.bytesFor(limits.expectedKeys, limits.falsePositiveRate) - 1)

  /** Blocks of the Bloom filter, the same in every task, if that many are under the cap. */
  private[filters] def bloomBlocks(limits: FilterLimits): Either[FilterRefusal, Long] = {
    val neededBytes = BloomSizing.bytesFor(limits.expectedKeys, limits.falsePositiveRate)
    if (neededBytes > limits.capBytes) Left(FilterRefusal.TooManyBytes(neededBytes, limits.capBytes))
    else Right(neededBytes / BloomSizing.BlockBytes)
  }

  /** A Bloom filter that lets more absent keys through than this is not worth its check, and is not published. */
  final val WorstFalsePositiveRate: Double = 0.75
}
