package io.aqeplugin.filters

/** The content of a [[PartialFilter]]: one rung of the ladder. The arrays are never written again. */
private[filters] sealed trait KeyState extends Product with Serializable

private[filters] object KeyState {

  /** Few keys: strictly ascending codes. */
  final case class Exact(sorted: Array[Long]) extends KeyState

  final case class Bitmap(bitmap: RangeBitmap) extends KeyState

  /** Words of a [[SplitBlockBloom]] sized for the limits' `expectedKeys`. */
  final case class Bloom(words: Array[Long]) extends KeyState

  /** The keys did not fit; none of them is kept. */
  final case class Refused(refusal: FilterRefusal) extends KeyState
}
