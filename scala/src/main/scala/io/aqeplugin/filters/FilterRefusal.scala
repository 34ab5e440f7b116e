package io.aqeplugin.filters

/** Why no filter can be made of the keys; `text` is meant for a log line. */
sealed abstract class FilterRefusal(val name: String) extends Product with Serializable {
  def text: String
}

object FilterRefusal {

  /** Every kind of filter that the keys admit is over the byte cap. */
  final case class TooManyBytes(neededBytes: Long, limitBytes: Long) extends FilterRefusal("too_many_bytes") {
    override def text: String = s"the filter needs $neededBytes bytes, the limit is $limitBytes"
  }

  /** Some tasks' keys are missing, or were counted twice: such a filter would drop rows, or cannot be trusted not to. */
  final case class IncompleteBuild(parts: Int, expectedParts: Int) extends FilterRefusal("incomplete_build") {
    override def text: String = s"the filter was built from $parts parts, the build side has $expectedParts"
  }

  /** Far more keys came than were announced, so that the Bloom filter lets nearly everything through. */
  final case class Overfull(falsePositiveRate: Double, limit: Double) extends FilterRefusal("overfull") {
    override def text: String = f"the filter lets $falsePositiveRate%.3f of the absent keys through, the limit is $limit%.3f"
  }

  /** Two parts were built under different limits and cannot be merged. */
  case object IncompatibleParts extends FilterRefusal("incompatible_parts") {
    override def text: String = "parts of one filter were built under different limits"
  }
}
