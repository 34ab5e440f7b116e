package io.aqeplugin.sketch

import org.apache.datasketches.kll.KllLongsSketch
import org.apache.datasketches.quantilescommon.QuantileSearchCriteria
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.filters.CodeRange

/** Merges the sketches of a stage's tasks. Mutable; the caller keeps threads apart.
  *
  * @param limits
  *   for the stage as a whole
  */
final class StageSketch(limits: SketchLimits) {
  private val tasks = new java.util.BitSet()
  private val codes = new DistinctCodes(limits.exactCodes, limits.sampledCodes)
  private var quantiles: Option[KllLongsSketch] = None
  // Unknown before the first.
  private var missing = Int.MaxValue
  private var rows = 0L
  private var nulls = 0L
  private var range: Option[CodeRange] = None
  private var columns: Seq[ColumnSketcher] = Nil
  private var texts: Seq[DistinctTexts] = Nil

  /** Adds the sketch of one of `partitions` partitions. A retried or speculative task brings a partition again, which changes nothing. */
  def absorb(partition: Int, partitions: Int, sketch: => KeySketch): Unit = if (!tasks.get(partition)) {
    val one = sketch
    codes.absorb(one.codes)
    one.quantiles.foreach(found => quantiles.fold { quantiles = Some(found) }(_.merge(found)))
    rows += one.rows
    nulls += one.nulls
    range = CodeRange.union(range, one.range)
    if (columns.isEmpty) columns = one.columns.map(_ => new ColumnSketcher(limits.columnCodes))
    columns.lazyZip(one.columns).foreach(_.absorb(_))
    if (texts.isEmpty) texts = one.texts.map(_ => new DistinctTexts(limits.columnCodes, limits.columnTextBytes))
    texts.lazyZip(one.texts).foreach(_.absorb(_))
    tasks.set(partition)
    missing = partitions - tasks.cardinality
  }

  /** None before the first partition. */
  def progress: Option[SketchProgress] =
    if (tasks.isEmpty) None else Some(SketchProgress(tasks.cardinality, tasks.cardinality + missing))

  /** What is known once all partitions have been added; none before. */
  def summary: Option[KeySummary] =
    if (missing > 0) None
    else {
      val all = codes.result
      val keyed = rows - nulls
      Some(KeySummary(
        rows = rows,
        nulls = nulls,
        range = range,
        distinct = math.min(all.distinct, keyed),
        codes = if (all.isComplete) Some(all.codes.sorted) else None,
        buckets = quantiles.filterNot(_.isEmpty).fold(Seq.empty[CodeBucket])(bucketsOf(_, keyed)),
        columns = columns.map(_.result),
        texts = texts.map(_.result)
      ))
    }

  /** Equi-height buckets. A key that fills several of them makes one. */
  private def bucketsOf(sketch: KllLongsSketch, keyed: Long): Seq[CodeBucket] = {
    val ranks = (1 to StageSketch.Buckets).map(_.toDouble / StageSketch.Buckets).toArray
    val highs =
      range.fold(Seq.empty[Long])(ends => (sketch.getQuantiles(ranks, QuantileSearchCriteria.INCLUSIVE).toSeq.init :+ ends.max).distinct)
    val lows = range.map(_.min).toSeq ++ highs.init.map(_ + 1)
    val below = sketch.getRanks(highs.toArray, QuantileSearchCriteria.INCLUSIVE).toSeq
    val shares = below.lazyZip(0.0 +: below.init).map(_ - _)
    lows.lazyZip(highs).lazyZip(shares).map((low, high, share) => CodeBucket(low, high, math.round(share * keyed.toDouble)))
  }
}

object StageSketch {

  /** Number of buckets of a histogram. */
  val Buckets = 16
}

/** How far a stage is: `doneTasks` of its `tasks`, each partition once. */
final case class SketchProgress(doneTasks: Int, tasks: Int)

/** The keys that a stage wrote.
  *
  * @param nulls
  *   rows whose key has a null
  * @param range
  *   smallest and largest code, if codes are values and there is one
  * @param distinct
  *   number of distinct keys, exact if `codes` are known
  * @param codes
  *   every distinct code in ascending order, while they are few
  * @param buckets
  *   equi-height histogram, if codes are values
  * @param columns
  *   of a key of several columns, each of them
  * @param texts
  *   of each column of the key, every distinct value, while they are few; none of a column of another type. Empty if none was sought
  */
final case class KeySummary(
    rows: Long,
    nulls: Long,
    range: Option[CodeRange],
    distinct: Long,
    codes: Option[Array[Long]],
    buckets: Seq[CodeBucket],
    columns: Seq[ColumnSketch] = Nil,
    texts: Seq[Option[Seq[UTF8String]]] = Nil
)

/** `rows` rows have codes in `[low, high]`. */
final case class CodeBucket(low: Long, high: Long, rows: Long)
