package io.aqeplugin.filters

/** The bits of a [[SplitBlockBloom]] that keys are being added to. */
private[filters] final class GrowingBloom(words: Array[Long]) extends GrowingKeys {

  override def add(code: Long): GrowingKeys = {
    SplitBlockBloom.insert(words, code)
    this
  }

  override def absorb(state: KeyState): GrowingKeys = state match {
    case KeyState.Exact(codes)   => addEach(codes)
    case KeyState.Bitmap(bitmap) =>
      bitmap.foreachCode(SplitBlockBloom.insert(words, _))
      this
    case KeyState.Bloom(other) if other.length == words.length =>
      var i = 0
      while (i < words.length) {
        words(i) |= other(i)
        i += 1
      }
      this
    case KeyState.Bloom(_)         => new RefusedKeys(FilterRefusal.IncompatibleParts)
    case KeyState.Refused(refusal) => new RefusedKeys(refusal)
  }

  override def freeze(): KeyState = KeyState.Bloom(words)
}
