package io.aqeplugin.decide

/** How large a filter over a build side's keys will be. */
object FilterSize {

  /** Bytes of memory; the exact set is an open hash table of 8-byte codes that is half full, the Bloom filter has eight bits set per key in one
    * block, for which the false-positive rate is `(1 - exp(-8 / bitsPerKey))^8` (Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom
    * Filters", WEA 2007).
    */
  def bytes(build: BuildFacts, limits: FilterLimits): Double =
    if (isExact(build, limits)) keys(build) * ExactBytesPerKey
    else keys(build) * bitsPerKey(limits.falsePositiveRate) / 8

  /** Whether the keys are few enough for a filter without false positives. */
  def isExact(build: BuildFacts, limits: FilterLimits): Boolean = keys(build) <= limits.exactMaxKeys

  /** Distinct keys, at most one per row. */
  private def keys(build: BuildFacts): Double = {
    val rows = math.max(0L, build.rows)
    build.keys.distinct.filter(_ >= 0).fold(rows)(math.min(_, rows)).toDouble
  }

  private def bitsPerKey(falsePositiveRate: Double): Double =
    -BitsSetPerKey / math.log(1 - math.pow(falsePositiveRate, 1.0 / BitsSetPerKey))

  private val ExactBytesPerKey = 16.0
  private val BitsSetPerKey = 8.0
}
