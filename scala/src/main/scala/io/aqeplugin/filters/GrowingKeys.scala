package io.aqeplugin.filters

/** A rung of the ladder that keys are being added to.
  *
  * Mutable: `add` changes the rung in place and returns it, or returns the next rung down with all keys moved there. The
  * caller goes on with what is returned.
  */
private[filters] abstract class GrowingKeys {

  def add(code: Long): GrowingKeys

  /** Adds every key of a finished part that was built under the same limits. */
  def absorb(state: KeyState): GrowingKeys

  /** The keys; the rung must not be used afterwards, its arrays are handed over. */
  def freeze(): KeyState

  /** Adds codes one by one, down the ladder if need be. */
  protected def addEach(codes: Array[Long]): GrowingKeys = codes.foldLeft(this)(_.add(_))
}

private[filters] object GrowingKeys {

  def start(limits: FilterLimits, integral: Boolean): GrowingKeys = new GrowingExact(limits, integral)

  /** The rung below the bitmap. */
  def bloomOrRefused(limits: FilterLimits): GrowingKeys = FilterLadder.bloomBlocks(limits) match {
    case Right(blocks) => new GrowingBloom(SplitBlockBloom.emptyWords(blocks))
    case Left(refusal) => new RefusedKeys(refusal)
  }

  /** What a finished collector holds. */
  case object Closed extends GrowingKeys {
    override def add(code: Long): GrowingKeys = closed()
    override def absorb(state: KeyState): GrowingKeys = closed()
    override def freeze(): KeyState = closed()
    private def closed(): Nothing = throw new IllegalStateException("the collector's result was taken, it takes no more keys")
  }
}

/** Keys that no longer fit: none is kept, and none can be lost by going on. */
private[filters] final class RefusedKeys(refusal: FilterRefusal) extends GrowingKeys {
  override def add(code: Long): GrowingKeys = this

  // A part built under other limits outweighs a part that is too large, in whichever order they come.
  override def absorb(state: KeyState): GrowingKeys = state match {
    case KeyState.Refused(FilterRefusal.IncompatibleParts) => new RefusedKeys(FilterRefusal.IncompatibleParts)
    case _                                                 => this
  }

  override def freeze(): KeyState = KeyState.Refused(refusal)
}
