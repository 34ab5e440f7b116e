package io.aqeplugin.filters

/** One bit for each code from the smallest to the largest: exact, and the fastest filter for dense keys.
  *
  * @param firstWord
  *   number of the first word; word `w` holds the codes `64 w` to `64 w + 63`
  * @param words
  *   the bits; neither the first nor the last word is zero, so that equal sets have equal words
  */
final class RangeBitmap private (private[filters] val firstWord: Long, private[filters] val words: Array[Long])
    extends ExactFilter
    with Serializable {

  /** Number of the last word. */
  private[filters] def lastWord: Long = firstWord + words.length - 1

  private[filters] val range: CodeRange = CodeRange(
    (firstWord << 6) + java.lang.Long.numberOfTrailingZeros(words.head),
    (lastWord << 6) + 63 - java.lang.Long.numberOfLeadingZeros(words.last)
  )

  override val distinctCodes: Long = words.foldLeft(0L)((n, w) => n + java.lang.Long.bitCount(w))

  override def kind: String = FilterKind.RangeBitmap.name

  override def sizeBytes: Long = words.length.toLong * java.lang.Long.BYTES

  override def sortedCodes: Array[Long] = {
    require(distinctCodes <= Int.MaxValue - 8, s"$distinctCodes codes do not fit an array")
    val out = new Array[Long](distinctCodes.toInt)
    var next = 0
    foreachCode { code =>
      out(next) = code
      next += 1
    }
    out
  }

  override def mightContain(code: Long): Boolean = {
    // Word numbers have 58 bits, so the difference cannot overflow.
    val word = (code >> 6) - firstWord
    word >= 0 && word < words.length && ((words(word.toInt) >>> code) & 1L) != 0L
  }

  override def retain(codes: Array[Long], positions: Array[Int], count: Int): Int = {
    val bits = words
    val first = firstWord
    val length = bits.length.toLong
    var kept = 0
    var i = 0
    if (Positions.areConsecutive(positions, 0, count)) {
      val from = positions(0)
      while (i < count) {
        val code = codes(from + i)
        val word = (code >> 6) - first
        if (word >= 0 && word < length) {
          positions(kept) = from + i
          kept += ((bits(word.toInt) >>> code) & 1L).toInt
        }
        i += 1
      }
    } else while (i < count) {
      val position = positions(i)
      val code = codes(position)
      val word = (code >> 6) - first
      if (word >= 0 && word < length) {
        // No branch on the bit itself, which is unpredictable.
        positions(kept) = position
        kept += ((bits(word.toInt) >>> code) & 1L).toInt
      }
      i += 1
    }
    kept
  }

  /** Calls `f` with every code, in ascending order. */
  private[filters] def foreachCode(f: Long => Unit): Unit = {
    var w = 0
    while (w < words.length) {
      var left = words(w)
      val base = (firstWord + w) << 6
      while (left != 0L) {
        f(base + java.lang.Long.numberOfTrailingZeros(left))
        left &= left - 1
      }
      w += 1
    }
  }
}

object RangeBitmap {

  /** The set of `codes`, in any order and possibly with duplicates.
    *
    * @return
    *   none when there is no code, or when the codes are so far apart that their bits do not fit an array
    */
  def of(codes: Array[Long]): Option[RangeBitmap] =
    if (codes.isEmpty) None
    else {
      val range = CodeRange(codes.min, codes.max)
      if (range.bitmapWords > MaxWords) None
      else {
        val first = range.min >> 6
        val words = new Array[Long](range.bitmapWords.toInt)
        codes.foreach { code =>
          val word = ((code >> 6) - first).toInt
          words(word) |= 1L << code
        }
        Some(new RangeBitmap(first, words))
      }
    }

  private[filters] final val MaxWords: Long = FilterLimits.HardMaxBytes / java.lang.Long.BYTES

  /** The bitmap of these words without zero words at either end; none when no bit is set. */
  private[filters] def trimmed(firstWord: Long, words: Array[Long]): Option[RangeBitmap] = {
    val from = words.indexWhere(_ != 0L)
    if (from < 0) None
    else {
      val until = words.lastIndexWhere(_ != 0L) + 1
      val kept = if (from == 0 && until == words.length) words else words.slice(from, until)
      Some(new RangeBitmap(firstWord + from, kept))
    }
  }
}
