package io.aqeplugin.filters

/** At most `FilterLadder.partExactKeys(limits)` codes. */
private[filters] final class GrowingExact(limits: FilterLimits, integral: Boolean) extends GrowingKeys {
  private val maxKeys = FilterLadder.partExactKeys(limits)
  private val codes = new CodeTable(maxKeys)

  override def add(code: Long): GrowingKeys = if (codes.add(code) && codes.size > maxKeys) nextRung() else this

  private def nextRung(): GrowingKeys = {
    val sorted = codes.sortedCodes
    val range = CodeRange(sorted.head, sorted.last)
    val next =
      if (integral && range.bitmapBytes <= FilterLadder.bitmapBytesLimit(limits)) GrowingBitmap.spanning(range, limits)
      else GrowingKeys.bloomOrRefused(limits)
    next.absorb(KeyState.Exact(sorted))
  }

  override def absorb(state: KeyState): GrowingKeys = state match {
    case KeyState.Exact(sorted) => addEach(sorted)
    // The absorbed part is on a lower rung, which can hold these keys too.
    case KeyState.Bitmap(bitmap)   => GrowingBitmap.copyOf(bitmap, limits).absorb(freeze())
    case KeyState.Bloom(words)     => new GrowingBloom(words.clone()).absorb(freeze())
    case KeyState.Refused(refusal) => new RefusedKeys(refusal)
  }

  override def freeze(): KeyState = KeyState.Exact(codes.sortedCodes)
}
