package io.aqeplugin.filters

/** The keys of one or more tasks, before they become a filter. Immutable.
  *
  * The content is a function of the set of keys and the limits, so merging is associative and commutative, and merging a part with itself
  * changes only the counts.
  *
  * @param limits
  *   the limits it was built under; parts of one filter share them
  * @param integral
  *   whether codes are key values rather than hashes
  * @param parts
  *   number of tasks whose keys it contains
  * @param addedKeys
  *   number of keys added, including repetitions
  * @param range
  *   bounds of the codes, none when there are no codes
  */
final case class PartialFilter private[filters] (
    limits: FilterLimits,
    integral: Boolean,
    parts: Int,
    addedKeys: Long,
    range: Option[CodeRange],
    private[filters] val state: KeyState
) {

  /** What its codes take as bytes. */
  def sizeBytes: Long = state match {
    case KeyState.Refused(_)     => 0
    case KeyState.Exact(codes)   => codes.length.toLong * java.lang.Long.BYTES
    case KeyState.Bitmap(bitmap) => bitmap.sizeBytes
    case KeyState.Bloom(words)   => words.length.toLong * java.lang.Long.BYTES
  }

  /** The filter, or why there is none.
    *
    * With fewer keys than expected, the filter is smaller than `limits` allow, and perhaps of another kind.
    *
    * @param expectedParts
    *   number of tasks; a filter of fewer would miss keys and is refused
    */
  def toFilter(expectedParts: Int): Either[FilterRefusal, KeyFilter] =
    if (parts != expectedParts) Left(FilterRefusal.IncompleteBuild(parts, expectedParts))
    else
      state match {
        case KeyState.Refused(refusal) => Left(refusal)
        case KeyState.Exact(codes)     => PartialFilter.counted(codes, range, integral, limits)
        case KeyState.Bitmap(bitmap)   => PartialFilter.counted(bitmap, limits)
        case KeyState.Bloom(words)     => PartialFilter.bloom(words, limits)
      }
}

object PartialFilter {

  /** The keys of all parts; only one result is allocated. Parts with different limits give a part that never becomes a filter. */
  def mergeAll(first: PartialFilter, rest: Iterator[PartialFilter]): PartialFilter =
    if (rest.isEmpty) first else merged(first, rest)

  private def merged(first: PartialFilter, rest: Iterator[PartialFilter]): PartialFilter = {
    val start = first.copy(state = KeyState.Exact(Array.emptyLongArray))
    val (merged, keys) = rest.foldLeft((start, GrowingKeys.start(first.limits, first.integral).absorb(first.state))) {
      case ((total, grown), part) =>
        val fits = part.limits == first.limits && part.integral == first.integral
        val counted = total.copy(
          parts = total.parts + part.parts,
          addedKeys = total.addedKeys + part.addedKeys,
          range = CodeRange.union(total.range, part.range)
        )
        (counted, grown.absorb(if (fits) part.state else KeyState.Refused(FilterRefusal.IncompatibleParts)))
    }
    merged.copy(state = keys.freeze())
  }

  private def counted(
      sorted: Array[Long],
      range: Option[CodeRange],
      integral: Boolean,
      limits: FilterLimits
  ): Either[FilterRefusal, KeyFilter] =
    FilterLadder.chooseCounted(sorted.length.toLong, range, integral, limits).map { kind =>
      val filter = kind match {
        case FilterKind.Empty       => None
        case FilterKind.Exact       => ExactSet.ofSorted(sorted)
        case FilterKind.RangeBitmap => RangeBitmap.of(sorted)
        // The ladder has no ranges.
        case FilterKind.SplitBlockBloom | FilterKind.Range => SplitBlockBloom.of(sorted, limits.falsePositiveRate)
      }
      filter.getOrElse(EmptySet)
    }

  private def counted(bitmap: RangeBitmap, limits: FilterLimits): Either[FilterRefusal, KeyFilter] =
    FilterLadder.chooseCounted(bitmap.distinctCodes, Some(bitmap.range), integral = true, limits).map {
      case FilterKind.SplitBlockBloom => SplitBlockBloom.of(bitmap.sortedCodes, limits.falsePositiveRate).getOrElse(bitmap)
      case _                          => bitmap
    }

  private def bloom(words: Array[Long], limits: FilterLimits): Either[FilterRefusal, KeyFilter] = {
    val full = new SplitBlockBloom(words)
    val rate = full.falsePositiveRate
    if (rate > FilterLadder.WorstFalsePositiveRate) Left(FilterRefusal.Overfull(rate, FilterLadder.WorstFalsePositiveRate))
    else Right(full.compacted(limits.falsePositiveRate))
  }
}
