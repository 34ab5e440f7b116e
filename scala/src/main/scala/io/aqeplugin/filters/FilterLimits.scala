package io.aqeplugin.filters

/** What a filter may cost, the same for every task that builds a part of it.
  *
  * @param expectedKeys
  *   upper bound of the number of different keys over all tasks, usually the build side's row count; it sizes the Bloom
  *   filter, so a bound that is too low makes that filter weaker, never wrong
  * @param exactMaxKeys
  *   up to this many different keys are kept as they are
  * @param maxFilterBytes
  *   hard cap on the memory of one filter, in a task as well as merged; never more than [[FilterLimits.HardMaxBytes]] counts
  * @param falsePositiveRate
  *   share of absent keys that a Bloom filter may let through, as planned
  */
final case class FilterLimits(expectedKeys: Long, exactMaxKeys: Int, maxFilterBytes: Long, falsePositiveRate: Double) {
  FilterLimits.problem(expectedKeys, exactMaxKeys, maxFilterBytes, falsePositiveRate).foreach(p => throw new IllegalArgumentException(p))

  /** The cap in force. */
  def capBytes: Long = math.min(maxFilterBytes, FilterLimits.HardMaxBytes)
}

object FilterLimits {

  /** No filter is larger, whatever the conf says: it has to fit one JVM array, and one message. */
  final val HardMaxBytes: Long = 1L << 30

  final val MinFalsePositiveRate: Double = 1e-4
  final val MaxFalsePositiveRate: Double = 0.5

  /** Why these are no limits, if they are not. */
  private[filters] def problem(expectedKeys: Long, exactMaxKeys: Int, maxFilterBytes: Long, falsePositiveRate: Double): Option[String] =
    if (expectedKeys < 0) Some(s"expectedKeys is $expectedKeys, must be 0 or more")
    else if (exactMaxKeys < 0) Some(s"exactMaxKeys is $exactMaxKeys, must be 0 or more")
    else if (maxFilterBytes < 0) Some(s"maxFilterBytes is $maxFilterBytes, must be 0 or more")
    // Written so that a NaN is a problem too.
    else if (falsePositiveRate >= MinFalsePositiveRate && falsePositiveRate <= MaxFalsePositiveRate) None
    else Some(s"falsePositiveRate is $falsePositiveRate, must lie between $MinFalsePositiveRate and $MaxFalsePositiveRate")
}
