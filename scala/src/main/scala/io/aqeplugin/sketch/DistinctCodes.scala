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
  private var table = new CodeTable(exactCodes)
  private var sampleLevel = 0
  private var mask = 0L

  /** Adds a code; adding it again changes nothing. */
  def add(code: Long): Unit =
    if ((KeyHasher.mix(code) & mask) == 0 && table.add(code) && table.size > limit) sampleFewer()

  /** Adds the first `count` of `codes`, whose contents are lost. Most of them cost no branch: they are members, or not in the sample. */
  def addAll(codes: Array[Long], count: Int): Unit = {
    val left = if (sampleLevel == 0) table.moveStrangers(codes, count) else moveSampled(codes, count)
    var i = 0
    while (i < left) { add(codes(i)); i += 1 }
  }

  /** Moves the codes of the sample to the front and returns their number. */
  private def moveSampled(codes: Array[Long], count: Int): Int = {
    var sampled = 0
    var i = 0 // once per row
    while (i < count) {
      val code = codes(i)
      codes(sampled) = code
      if ((KeyHasher.mix(code) & mask) == 0) sampled += 1
      i += 1
    }
    sampled
  }

  /** Adds the codes of another sketch. */
  def absorb(other: CodeSample): Unit = {
    if (other.level > sampleLevel) raise(other.level)
    table.reserve(math.min(other.codes.length, limit))
    other.codes.foreach(add)
  }

  private def limit: Int = if (sampleLevel == 0) exactCodes else sampledCodes

  private def sampleFewer(): Unit = {
    raise(sampleLevel + 1)
    if (table.size > limit) sampleFewer()
  }

  private def raise(level: Int): Unit = {
    val before = table.codes
    sampleLevel = level
    mask = (1L << level) - 1
    val left = moveSampled(before, before.length)
    table = new CodeTable(sampledCodes)
    table.reserve(left)
    var i = 0
    while (i < left) { table.add(before(i)); i += 1 }
  }

  def result: CodeSample = CodeSample(sampleLevel, table.codes)
}

/** The codes whose hash ends in `level` zero bits; all codes at level 0.
  *
  * @param codes
  *   without repetition, in no order
  */
final case class CodeSample(level: Int, codes: Array[Long]) {

  /** Whether no code is missing. */
  def isComplete: Boolean = level == 0

  /** Number of distinct codes: exact if no code is missing, else an estimate. */
  def distinct: Long = codes.length.toLong << level
}
