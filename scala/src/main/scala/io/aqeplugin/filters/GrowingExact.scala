package io.aqeplugin.filters

/** At most `FilterLadder.partExactKeys(limits)` codes in a hash set like [[ExactSet]]. */
private[filters] final class GrowingExact(limits: FilterLimits, integral: Boolean) extends GrowingKeys {
  private val maxKeys = FilterLadder.partExactKeys(limits)
  private var table = new Array[Long](ExactSet.slotsFor(math.min(maxKeys, 64)))
  // The first code is the filler of the empty slots and takes none itself, see ExactSet.
  private var filler = 0L
  private var size = 0

  override def add(code: Long): GrowingKeys =
    if (size == 0) addFirst(code)
    else if (!ExactSet.insert(table, filler, code)) this
    else {
      size += 1
      if (size > maxKeys) nextRung()
      else {
        if (size * 2 > table.length) grow()
        this
      }
    }

  private def addFirst(code: Long): GrowingKeys = {
    filler = code
    size = 1
    java.util.Arrays.fill(table, filler)
    if (maxKeys == 0) nextRung() else this
  }

  private def grow(): Unit = {
    val larger = Array.fill(table.length * 2)(filler)
    table.foreach(code => if (code != filler) ExactSet.insert(larger, filler, code))
    table = larger
  }

  private def nextRung(): GrowingKeys = {
    val codes = sortedCodes()
    val range = CodeRange(codes.head, codes.last)
    val next =
      if (integral && range.bitmapBytes <= FilterLadder.bitmapBytesLimit(limits)) GrowingBitmap.spanning(range, limits)
      else GrowingKeys.bloomOrRefused(limits)
    next.absorb(KeyState.Exact(codes))
  }

  override def absorb(state: KeyState): GrowingKeys = state match {
    case KeyState.Exact(codes) => addEach(codes)
    // The absorbed part is on a lower rung, which can hold these keys too.
    case KeyState.Bitmap(bitmap)   => GrowingBitmap.copyOf(bitmap, limits).absorb(freeze())
    case KeyState.Bloom(words)     => new GrowingBloom(words.clone()).absorb(freeze())
    case KeyState.Refused(refusal) => new RefusedKeys(refusal)
  }

  override def freeze(): KeyState = KeyState.Exact(sortedCodes())

  private def sortedCodes(): Array[Long] =
    if (size == 0) Array.emptyLongArray
    else {
      val codes = filler +: table.filter(_ != filler)
      java.util.Arrays.sort(codes)
      codes
    }
}
