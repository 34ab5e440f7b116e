package io.aqeplugin.filters

/** A rung of the ladder that keys are being added to.
  *
  * Mutable: `add` changes the rung in place and returns it, or moves all keys to the next rung down and returns that. The caller continues
  * with the returned rung.
  */
private[filters] abstract class GrowingKeys {

  def add(code: Long): GrowingKeys

  /** Adds every key of a finished part that was built under the same limits. */
  def absorb(state: KeyState): GrowingKeys

  /** The keys. The rung must not be used afterwards, because its arrays are handed over. */
  def freeze(): KeyState

  /** Adds codes one by one, moving down the ladder if needed. */
  protected def addEach(codes: Array[Long]): GrowingKeys = codes.foldLeft(this)(_.add(_))
}

private[filters] object GrowingKeys {

  def start(limits: FilterLimits, integral: Boolean): GrowingKeys = new GrowingExact(limits, integral)

  /** The rung below the bitmap. */
  def bloomOrRefused(limits: FilterLimits): GrowingKeys = FilterLadder.bloomBlocks(limits) match {
    case Right(blocks) => new GrowingBloom(SplitBlockBloom.emptyWords(blocks))
    case Left(refusal) => new RefusedKeys(refusal)
  }

  /** The state of a finished collector. */
  case object Closed extends GrowingKeys {
    override def add(code: Long): GrowingKeys = closed()
    override def absorb(state: KeyState): GrowingKeys = closed()
    override def freeze(): KeyState = closed()
    private def closed(): Nothing = throw new IllegalStateException("the collector's result was taken; it accepts no more keys")
  }
}

/** The keys no longer fit. None is kept, so adding more is harmless. */
private[filters] final class RefusedKeys(refusal: FilterRefusal) extends GrowingKeys {
  override def add(code: Long): GrowingKeys = this

  // A part built under other limits outweighs a part that is too large, in whichever order they come.
  override def absorb(state: KeyState): GrowingKeys = state match {
    case KeyState.Refused(FilterRefusal.IncompatibleParts) => new RefusedKeys(FilterRefusal.IncompatibleParts)
    case _                                                 => this
  }

  override def freeze(): KeyState = KeyState.Refused(refusal)
}
