package io.aqeplugin.filters

/** What a filter will be like before it is built.
  *
  * @param sizeBytes
  *   memory of the filter, as [[KeyFilter.sizeBytes]] will report it; a Bloom filter may by chance come out half or double
  * @param falsePositiveRate
  *   share of absent keys it lets through; 0 for the exact kinds
  */
final case class PredictedFilter(kind: FilterKind, sizeBytes: Long, falsePositiveRate: Double)

/** Prices filters for the cost model. Pure; takes microseconds. */
object FilterCost {

  /** The filter that [[PartialFilter.toFilter]] will give.
    *
    * @param distinctKeys
    *   different keys, as far as known
    * @param range
    *   bounds of the key codes, where known; without them no bitmap is foreseen
    * @param integral
    *   whether codes are the values of an integral key
    * @param limits
    *   `expectedKeys` sizes what the tasks build, and is at least `distinctKeys`
    */
  def predict(
      distinctKeys: Long,
      range: Option[CodeRange],
      integral: Boolean,
      limits: FilterLimits
  ): Either[FilterRefusal, PredictedFilter] = {
    val keysAreKept = distinctKeys <= FilterLadder.partExactKeys(limits)
    val rung = if (keysAreKept) Right(FilterKind.Exact) else FilterLadder.choose(distinctKeys, range, integral, limits)
    rung.flatMap {
      // The keys themselves are gone, so that only the size can still change.
      case kind @ FilterKind.SplitBlockBloom => Right(bloom(kind, distinctKeys, shrunkBlocks(distinctKeys, limits)))
      case _                                 =>
        FilterLadder.chooseCounted(distinctKeys, range, integral, limits).map {
          case kind @ FilterKind.Empty           => PredictedFilter(kind, 0L, 0.0)
          case kind @ FilterKind.Exact           => PredictedFilter(kind, ExactSet.bytesFor(distinctKeys.toInt), 0.0)
          case kind @ FilterKind.RangeBitmap     => PredictedFilter(kind, range.fold(0L)(_.bitmapBytes), 0.0)
          case kind @ FilterKind.SplitBlockBloom => bloom(kind, distinctKeys, BloomSizing.blocksFor(distinctKeys, limits.falsePositiveRate))
        }
    }
  }

  private def bloom(kind: FilterKind, distinctKeys: Long, blocks: Long): PredictedFilter =
    PredictedFilter(kind, blocks * BloomSizing.BlockBytes, BloomSizing.falsePositiveRate(distinctKeys, blocks))

  /** Blocks that are left of a filter for the expected keys after the halving of [[SplitBlockBloom]]. */
  private def shrunkBlocks(distinctKeys: Long, limits: FilterLimits): Long = {
    def keepsRate(blocks: Long) = BloomSizing.falsePositiveRate(distinctKeys, blocks) <= limits.falsePositiveRate
    val full = BloomSizing.blocksFor(limits.expectedKeys, limits.falsePositiveRate)
    Iterator.iterate(full)(_ / 2).dropWhile(blocks => blocks % 2 == 0 && keepsRate(blocks / 2)).next()
  }
}
