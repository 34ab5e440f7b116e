package io.aqeplugin.sketch

import org.apache.datasketches.frequencies.LongsSketch
import org.apache.datasketches.kll.KllLongsSketch

import io.aqeplugin.filters.CodeRange

/** Sketches the keys that one task writes.
  *
  * Mutable, because it is called once a row. Only the number of rows and the distinct codes are of all rows; quantiles, frequent keys and
  * row widths come from one row in 32, sampled at random distances, the first row included.
  *
  * @param limits
  *   equal for all tasks
  * @param integral
  *   whether codes are values of an integer-like key, so that their order means something
  */
final class KeySketcher(limits: SketchLimits, integral: Boolean) {
  private val distinct = new DistinctCodes(limits.exactCodes, limits.sampledCodes)
  private val quantiles = KllLongsSketch.newHeapInstance(SketchLimits.QuantileK)
  private val frequent = new LongsSketch(SketchLimits.FrequentCapacity)
  private var rows = 0L
  private var nulls = 0L
  private var min = Long.MaxValue
  private var max = Long.MinValue
  private var sampledBytes = 0L
  private var sampledRows = 0L

  // The next sample is due when this is 0.
  private var untilSample = 1
  private var random = SketchLimits.RandomSeed

  /** Adds a row whose key is null. */
  def addNull(): Unit = {
    rows += 1
    nulls += 1
  }

  /** Adds a row with a key; returns whether its width is to be given to [[addWidth]]. */
  def add(code: Long): Boolean = {
    rows += 1
    if (code < min) min = code
    if (code > max) max = code
    distinct.add(code)
    untilSample -= 1
    untilSample == 0 && sample(code)
  }

  def addWidth(bytes: Int): Unit = {
    sampledBytes += bytes
    sampledRows += 1
  }

  private def sample(code: Long): Boolean = {
    // Every sample has the same weight: an update of this sketch with a weight is far dearer.
    if (integral) quantiles.update(code)
    frequent.update(code, SketchLimits.Stride.toLong)
    untilSample = nextDistance()
    true
  }

  /** Uniform over `1` to `2 Stride - 1`, which is `Stride` on average. A fixed distance could meet a pattern of the rows. */
  private def nextDistance(): Int = {
    // Marsaglia's xorshift.
    random ^= random << 13
    random ^= random >>> 7
    random ^= random << 17
    1 + ((random >>> 33) % (2 * SketchLimits.Stride - 1)).toInt
  }

  def result: KeySketch = KeySketch(
    rows,
    nulls,
    if (integral && min <= max) Some(CodeRange(min, max)) else None,
    sampledRows,
    sampledBytes,
    distinct.result,
    if (integral) Some(quantiles) else None,
    frequent
  )
}
