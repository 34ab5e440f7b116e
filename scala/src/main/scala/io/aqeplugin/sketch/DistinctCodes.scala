package io.aqeplugin.sketch

import io.aqeplugin.filters.{CodeTable, KeyHasher}

/** The distinct codes of a stream: every one while they are few, and then a sample of them.
  *
  * This is adaptive sampling (Wegman; Flajolet, "On Adaptive Sampling", Computing 43, 1990): at level `l` the codes are kept whose hash ends in
  * `l` zero bits, and the level rises whenever too many are kept. Their number times `2^l` estimates the distinct codes with a relative
  * standard error of about `1.2 / sqrt(sampledCodes)`. A Theta or HyperLogLog sketch would give as good an estimate, but keeps hashes, and
  * the values are what a filter needs.
  *
  * Mutable; belongs to one thread.
  *
  * @param exactCodes
  *   number of distinct codes up to which all are kept
  * @param sampledCodes
  *   number of codes that are kept at most once there are more
  */
final class DistinctCodes(exactCodes: Int, sampledCodes: Int) {
  private var codes = new CodeTable(exactCodes)
  private var sampleLevel = 0
  private var mask = 0L

  /** Adds a code; adding it again changes nothing. */
  def add(code: Long): Unit =
    if ((KeyHasher.mix(code) & mask) == 0 && codes.add(code) && codes.size > limit) sampleFewer()

  /** Adds the codes of another sketch. */
  def absorb(other: CodeSample): Unit = {
    if (other.level > sampleLevel) raise(other.level)
    other.codes.foreach(add)
  }

  private def limit: Int = if (sampleLevel == 0) exactCodes else sampledCodes

  private def sampleFewer(): Unit = {
    raise(sampleLevel + 1)
    if (codes.size > limit) sampleFewer()
  }

  private def raise(level: Int): Unit = {
    val before = codes.sortedCodes
    sampleLevel = level
    mask = (1L << level) - 1
    codes = new CodeTable(sampledCodes)
    before.foreach(code => if ((KeyHasher.mix(code) & mask) == 0) codes.add(code))
  }

  def result: CodeSample = CodeSample(sampleLevel, codes.sortedCodes)
}

/** The codes whose hash ends in `level` zero bits; all codes at level 0.
  *
  * @param codes
  *   in ascending order, without repetition
  */
final case class CodeSample(level: Int, codes: Array[Long]) {

  /** Whether no code is missing. */
  def isComplete: Boolean = level == 0

  /** Number of distinct codes: exact if no code is missing, else an estimate. */
  def distinct: Long = codes.length.toLong << level
}
