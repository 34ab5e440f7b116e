package io.aqeplugin.filters

/** Integral codes as bits, in a window of words that widens as codes are added, up to `FilterLadder.bitmapBytesLimit(limits)`.
  *
  * @param firstWord
  *   number of the window's first word, see [[RangeBitmap]]
  */
private[filters] final class GrowingBitmap private (limits: FilterLimits, private var firstWord: Long, private var words: Array[Long])
    extends GrowingKeys {

  private val maxWords = FilterLadder.bitmapBytesLimit(limits) / java.lang.Long.BYTES

  override def add(code: Long): GrowingKeys = {
    val word = (code >> 6) - firstWord
    if (word >= 0 && word < words.length) {
      words(word.toInt) |= 1L << code
      this
    } else if (widen(code >> 6, code >> 6)) add(code)
    else toBloom.add(code)
  }

  override def absorb(state: KeyState): GrowingKeys = state match {
    case KeyState.Exact(codes)     => addEach(codes)
    case KeyState.Bitmap(bitmap)   => if (widen(bitmap.firstWord, bitmap.lastWord)) orWith(bitmap) else toBloom.absorb(state)
    case KeyState.Bloom(_)         => toBloom.absorb(state)
    case KeyState.Refused(refusal) => new RefusedKeys(refusal)
  }

  override def freeze(): KeyState =
    RangeBitmap.trimmed(firstWord, words).fold[KeyState](KeyState.Exact(Array.emptyLongArray))(KeyState.Bitmap(_))

  /** Widens the window to include words `from` to `to`; returns `false`, without a change, if it would be too wide. */
  private def widen(from: Long, to: Long): Boolean = {
    // Unused room of earlier widening does not count: the result must depend on the codes alone.
    val usedFrom = words.indexWhere(_ != 0L)
    val low = if (usedFrom < 0) from else math.min(from, firstWord + usedFrom)
    val high = if (usedFrom < 0) to else math.max(to, firstWord + words.lastIndexWhere(_ != 0L))
    val needed = high - low + 1
    if (needed <= maxWords) {
      // Doubles, and shares the room between both sides. At the limit, where doubling fails, each shift halves what is left.
      val length = math.min(maxWords, math.max(needed, 2L * words.length))
      val newFirst = low - (length - needed) / 2
      val wider = new Array[Long](length.toInt)
      if (usedFrom >= 0) {
        val kept = words.lastIndexWhere(_ != 0L) + 1 - usedFrom
        System.arraycopy(words, usedFrom, wider, (firstWord + usedFrom - newFirst).toInt, kept)
      }
      firstWord = newFirst
      words = wider
    }
    needed <= maxWords
  }

  private def orWith(bitmap: RangeBitmap): GrowingKeys = {
    val shift = (bitmap.firstWord - firstWord).toInt
    var i = 0
    while (i < bitmap.words.length) {
      words(shift + i) |= bitmap.words(i)
      i += 1
    }
    this
  }

  private def toBloom: GrowingKeys =
    RangeBitmap.trimmed(firstWord, words).foldLeft(GrowingKeys.bloomOrRefused(limits))((keys, bitmap) =>
      keys.absorb(KeyState.Bitmap(bitmap))
    )
}

private[filters] object GrowingBitmap {

  /** An empty bitmap with room for the codes of `range`, which must be under the limit. */
  def spanning(range: CodeRange, limits: FilterLimits): GrowingBitmap =
    new GrowingBitmap(limits, range.min >> 6, new Array[Long](range.bitmapWords.toInt))

  def copyOf(bitmap: RangeBitmap, limits: FilterLimits): GrowingBitmap = new GrowingBitmap(limits, bitmap.firstWord, bitmap.words.clone())
}
