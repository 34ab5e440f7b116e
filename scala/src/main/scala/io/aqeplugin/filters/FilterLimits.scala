package io.aqeplugin.filters

/** The limits of a filter, equal for all tasks that build parts of it.
  *
  * @param expectedKeys
  *   upper bound of the number of distinct keys over all tasks, usually the build side's row count. It sizes the Bloom filter: a bound that
  *   is too low gives more false positives, but never wrong rows
  * @param exactMaxKeys
  *   maximum number of distinct keys that are kept exactly
  * @param maxFilterBytes
  *   limit on the memory of one filter, per task and merged; [[FilterLimits.HardMaxBytes]] applies if it is lower
  * @param falsePositiveRate
  *   planned false-positive rate of a Bloom filter
  */
final case class FilterLimits(expectedKeys: Long, exactMaxKeys: Int, maxFilterBytes: Long, falsePositiveRate: Double) {
  FilterLimits.problem(expectedKeys, exactMaxKeys, maxFilterBytes, falsePositiveRate).foreach(p => throw new IllegalArgumentException(p))

  /** The size limit that applies. */
  def capBytes: Long = math.min(maxFilterBytes, FilterLimits.HardMaxBytes)
}

object FilterLimits {

  /** The limit for every filter, whatever the conf: a filter has to fit into one JVM array and one message. */
  final val HardMaxBytes: Long = 1L << 30

  final val MinFalsePositiveRate: Double = 1e-4
  final val MaxFalsePositiveRate: Double = 0.5

  /** Why these limits are invalid, if they are. */
  private def problem(expectedKeys: Long, exactMaxKeys: Int, maxFilterBytes: Long, falsePositiveRate: Double): Option[String] =
    if (expectedKeys < 0) Some(s"expectedKeys is $expectedKeys, must be 0 or more")
    else if (exactMaxKeys < 0) Some(s"exactMaxKeys is $exactMaxKeys, must be 0 or more")
    else if (maxFilterBytes < 0) Some(s"maxFilterBytes is $maxFilterBytes, must be 0 or more")
    // Written so that a NaN is rejected too.
    else if (falsePositiveRate >= MinFalsePositiveRate && falsePositiveRate <= MaxFalsePositiveRate) None
    else Some(s"falsePositiveRate is $falsePositiveRate, must be between $MinFalsePositiveRate and $MaxFalsePositiveRate")
}
