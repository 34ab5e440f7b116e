package io.aqeplugin.filters

/** Why the keys give no filter. */
sealed trait FilterRefusal extends Product with Serializable

object FilterRefusal {

  /** Every possible kind of filter exceeds the size limit. */
  final case class TooManyBytes(neededBytes: Long, limitBytes: Long) extends FilterRefusal

  /** Some tasks' keys are missing or were counted twice: the filter might drop rows that have a partner. */
  final case class IncompleteBuild(parts: Int, expectedParts: Int) extends FilterRefusal

  /** Far more keys were added than expected, so the Bloom filter would let nearly every row pass. */
  final case class Overfull(falsePositiveRate: Double, limit: Double) extends FilterRefusal

  /** Two parts were built under different limits and cannot be merged. */
  case object IncompatibleParts extends FilterRefusal
}
