package io.aqeplugin.filters

/** What a filter will be like before it is built.
  *
  * @param sizeBytes
  *   memory of the filter, as [[KeyFilter.sizeBytes]] will report it, at most
  * @param falsePositiveRate
  *   share of absent keys it lets through; 0 for the exact kinds
  */
final case class PredictedFilter(kind: FilterKind, sizeBytes: Long, falsePositiveRate: Double)

/** Prices filters for the cost model. Pure; takes microseconds. */
object FilterCost {

  /** The filter that the ladder will choose for `distinctKeys` keys.
    *
    * @param distinctKeys
    *   different keys
    * @param range
    *   bounds of the key codes, where known; without them no bitmap is foreseen
    * @param integral
    *   whether codes are the values of an integral key
    * @param limits
    *   `expectedKeys` sizes the Bloom filter; the rate is that of `distinctKeys` in a filter of this size
    */
  def predict(
      distinctKeys: Long,
      range: Option[CodeRange],
      integral: Boolean,
      limits: FilterLimits
  ): Either[FilterRefusal, PredictedFilter] =
    FilterLadder.choose(distinctKeys, range, integral, limits).map {
      case kind @ FilterKind.Empty           => PredictedFilter(kind, 0L, 0.0)
      case kind @ FilterKind.Exact           => PredictedFilter(kind, ExactSet.bytesFor(distinctKeys.toInt), 0.0)
      case kind @ FilterKind.RangeBitmap     => PredictedFilter(kind, range.fold(0L)(_.bitmapBytes), 0.0)
      case kind @ FilterKind.SplitBlockBloom =>
        val blocks = BloomSizing.blocksFor(limits.expectedKeys, limits.falsePositiveRate)
        PredictedFilter(kind, blocks * BloomSizing.BlockBytes, BloomSizing.falsePositiveRate(distinctKeys, blocks))
    }
}
