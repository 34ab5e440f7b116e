package io.aqeplugin.filters

/** The content of a [[PartialFilter]]: one rung of the ladder. The arrays are never written again. */
private[filters] sealed trait KeyState extends Product with Serializable {
  def sizeBytes: Long
}

private[filters] object KeyState {

  /** Few keys: strictly ascending codes. */
  final case class Exact(sorted: Array[Long]) extends KeyState {
    def sizeBytes: Long = sorted.length.toLong * java.lang.Long.BYTES
  }

  final case class Bitmap(bitmap: RangeBitmap) extends KeyState {
    def sizeBytes: Long = bitmap.sizeBytes
  }

  /** Words of a [[SplitBlockBloom]] sized for the limits' `expectedKeys`. */
  final case class Bloom(words: Array[Long]) extends KeyState {
    def sizeBytes: Long = SplitBlockBloom.bytesOf(words)
  }

  /** The keys did not fit; none of them is kept. */
  final case class Refused(refusal: FilterRefusal) extends KeyState {
    def sizeBytes: Long = 0L
  }
}
