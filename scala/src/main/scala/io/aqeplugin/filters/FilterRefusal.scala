package io.aqeplugin.filters

/** Why the keys give no filter; `text` is for a log line. */
sealed abstract class FilterRefusal(val name: String) extends Product with Serializable {
  def text: String
}

object FilterRefusal {

  /** Every possible kind of filter exceeds the size limit. */
  final case class TooManyBytes(neededBytes: Long, limitBytes: Long) extends FilterRefusal("too_many_bytes") {
    override def text: String = s"the filter needs $neededBytes bytes, the limit is $limitBytes"
  }

  /** Some tasks' keys are missing or were counted twice: the filter might drop rows that have a partner. */
  final case class IncompleteBuild(parts: Int, expectedParts: Int) extends FilterRefusal("incomplete_build") {
    override def text: String = s"the filter was built from $parts parts, the build side has $expectedParts"
  }

  /** Far more keys were added than expected, so the Bloom filter would let nearly every row pass. */
  final case class Overfull(falsePositiveRate: Double, limit: Double) extends FilterRefusal("overfull") {
    override def text: String = f"the filter lets $falsePositiveRate%.3f of the absent keys through, the limit is $limit%.3f"
  }

  /** Two parts were built under different limits and cannot be merged. */
  case object IncompatibleParts extends FilterRefusal("incompatible_parts") {
    override def text: String = "parts of one filter were built under different limits"
  }
}
