package io.aqeplugin.filters

/** Chooses the kind of filter for a set of keys. From the top, the first that applies:
  *
  *   1. `empty`: no key.
  *   1. `exact`: at most [[exactKeys]] distinct keys; or `range_bitmap` for them, when the keys are integral and the
  *      bitmap is no larger than the hash set would be.
  *   1. `range_bitmap`: integral keys whose bitmap is smaller than the Bloom filter would be, and below the size limit.
  *   1. `split_block_bloom`, sized for `limits.expectedKeys`, when it is below the size limit.
  *   1. Otherwise none: [[FilterRefusal.TooManyBytes]].
  *
  * Parts of a filter use the same order, but keep exact codes as long as they take less memory than the Bloom filter that would replace
  * them ([[partExactKeys]]): with many tasks of few keys each, a Bloom filter for all keys in every task would be most of the cost. The
  * finished filter is then chosen and sized by the number of keys that were really added.
  *
  * The choice depends only on the set of keys and the limits, and only moves down as keys are added. This makes merging the parts of
  * several tasks associative and commutative.
  */
object FilterLadder {

  /** @param distinctKeys
    *   number of distinct keys, or an upper bound of it
    * @param range
    *   bounds of their codes; none when there is no key or the bounds are unknown
    * @param integral
    *   whether codes are the values of an integral key, which may be dense
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

  /** Maximum number of distinct keys that are kept exactly: `limits.exactMaxKeys`, or fewer if their hash set would exceed the size
    * limit.
    */
  def exactKeys(limits: FilterLimits): Int = math.min(limits.exactMaxKeys, ExactSet.keysWithin(limits.capBytes))

  /** Maximum number of distinct keys that a part keeps exactly: as many as a hash set of the Bloom filter's size holds, and at least
    * [[exactKeys]].
    */
  private[filters] def partExactKeys(limits: FilterLimits): Int = {
    val bytes = math.min(limits.capBytes, BloomSizing.bytesFor(limits.expectedKeys, limits.falsePositiveRate))
    math.max(exactKeys(limits), ExactSet.keysWithin(bytes))
  }

  /** Bytes that the codes of the largest part take. */
  def partBytes(limits: FilterLimits): Long =
    math.max(
      partExactKeys(limits).toLong * java.lang.Long.BYTES,
      math.min(limits.capBytes, BloomSizing.bytesFor(limits.expectedKeys, limits.falsePositiveRate))
    )

  /** The kind for a known number of keys. */
  private[filters] def chooseCounted(distinctKeys: Long, range: Option[CodeRange], integral: Boolean, limits: FilterLimits) =
    choose(distinctKeys, range, integral, limits.copy(expectedKeys = math.min(limits.expectedKeys, distinctKeys)))

  /** Size of the largest bitmap that is used instead of a Bloom filter. */
  private[filters] def bitmapBytesLimit(limits: FilterLimits): Long =
    math.min(limits.capBytes, BloomSizing.bytesFor(limits.expectedKeys, limits.falsePositiveRate) - 1)

  /** Number of blocks of the Bloom filter, equal in every task, if it is below the size limit. */
  private[filters] def bloomBlocks(limits: FilterLimits): Either[FilterRefusal, Long] = {
    val neededBytes = BloomSizing.bytesFor(limits.expectedKeys, limits.falsePositiveRate)
    if (neededBytes > limits.capBytes) Left(FilterRefusal.TooManyBytes(neededBytes, limits.capBytes))
    else Right(neededBytes / BloomSizing.BlockBytes)
  }

  /** A Bloom filter with a higher false-positive rate is not worth its check and is not published. */
  final val WorstFalsePositiveRate: Double = 0.75
}
