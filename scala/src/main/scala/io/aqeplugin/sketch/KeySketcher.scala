package io.aqeplugin.sketch

import org.apache.datasketches.kll.KllLongsSketch
import org.apache.spark.unsafe.types.UTF8String

/** Sketches the keys that one task writes.
  *
  * Rows, range and distinct codes are of all rows; quantiles come from one row in 32, at random distances, the first row included.
  *
  * Mutable; belongs to one thread.
  *
  * @param limits
  *   equal for all tasks
  * @param areValues
  *   for each column of the key, whether its codes are values of an integer-like column, so that their order means something. Codes of a
  *   key of several columns are hashes
  * @param areTexts
  *   for each column of the key, whether [[addText]] gives its values; empty if it gives none
  */
final class KeySketcher(limits: SketchLimits, areValues: Seq[Boolean], areTexts: Seq[Boolean] = Nil) {
  private val integral = areValues == Seq(true)
  private val distinct = new DistinctCodes(limits.exactCodes, limits.sampledCodes)
  private val quantiles = KllLongsSketch.newHeapInstance(SketchLimits.QuantileK)
  private var rows = 0L
  private var nulls = 0L
  private val extremes = new CodeExtremes
  private val ofColumns =
    (if (areValues.size == 1) Nil else areValues.map(new ColumnSketcher(limits.columnCodes, _))).toArray

  private val texts = areTexts.map(_ => new DistinctTexts(limits.columnCodes, limits.columnTextBytes)).toArray

  // Rows that pass before the next sample.
  private var untilSample = 0
  private var random = SketchLimits.RandomSeed

  /** Adds rows whose key is null. */
  def addNulls(count: Long): Unit = {
    rows += count
    nulls += count
  }

  /** Adds rows with a key each: the first `count` of `codes`, whose contents are lost. */
  def add(codes: Array[Long], count: Int): Unit = {
    rows += count
    if (integral) {
      extremes.add(codes, count)
      sample(codes, count)
    }
    distinct.addAll(codes, count)
  }

  /** Adds the codes that the keys of the same rows have in one of their columns; their contents are lost. */
  def addColumn(column: Int, codes: Array[Long], count: Int): Unit = ofColumns(column).add(codes, count)

  /** Adds the value of a column of texts, of a row with a key.
    *
    * @param code
    *   of the text
    */
  def addText(column: Int, code: Long, text: UTF8String): Unit = texts(column).add(code, text)

  /** Whether [[addText]] still does something. */
  def keepsTexts(column: Int): Boolean = texts(column).isComplete

  private def sample(codes: Array[Long], count: Int): Unit = {
    var i = untilSample
    while (i < count) {
      // Every sample has the same weight: an update of this sketch with a weight is far dearer.
      quantiles.update(codes(i))
      i += nextDistance()
    }
    untilSample = i - count
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
    extremes.result,
    distinct.result,
    if (integral) Some(quantiles) else None,
    ofColumns.toSeq.map(_.result),
    areTexts.lazyZip(texts.toSeq).map((are, seen) => if (are) seen.result else None)
  )
}
