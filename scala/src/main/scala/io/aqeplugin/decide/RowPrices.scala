package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf._

/** What one row costs where it is moved or looked up, in nanoseconds of one thread. See [[CostModel]] for the formulas. */
private[decide] final class RowPrices(executors: Int, thresholds: Thresholds) {
  import RowPrices._

  private val perSharedByte =
    thresholds(CostCollectNanosPerByte) + thresholds(CostBroadcastNanosPerByte) * math.max(1, executors)

  /** A row through a shuffle. */
  def shuffled(rowBytes: Long): Double =
    math.max(0L, rowBytes) * thresholds(CostShuffleNanosPerByte) + thresholds(CostShuffleNanosPerRow)

  /** Bytes that the driver collects and hands to every executor. */
  def shared(bytes: Double): Double = bytes * perSharedByte

  /** A lookup in a hash table, without its access to memory. */
  def probe(byRow: Boolean): Double = thresholds(CostHashProbeNanosPerRow) * (if (byRow) ProbesPerRowKey else 1)

  /** The access of a lookup to memory, in a hash table of so many bytes. */
  def hashMiss(tableBytes: Double): Double = missed(tableBytes, SharedCacheBytes) * thresholds(CostHashMissNanosPerRow)

  /** The access of a check to memory, in a filter of so many bytes. */
  def filterMiss(filterBytes: Double): Double = missed(filterBytes, CoreCacheBytes) * thresholds(CostFilterMissNanosPerRow)

  /** All rows that are sorted, in partitions of equal size: by comparing rows, or as numbers, which Spark does in one pass for each byte.
    */
  def sorted(rows: Double, partitions: Double, byRow: Boolean): Double = {
    val steps = math.max(0.0, math.log(math.max(1.0, rows / partitions)) / Log2)
    rows * (if (byRow) steps else math.min(steps, StepsOfNumber)) * thresholds(CostSortNanosPerComparison)
  }
}

private[aqeplugin] object RowPrices {

  // What servers have at least: a core for itself, and a slot of what the cores share.
  private val CoreCacheBytes = (2L << 20).toDouble
  val SharedCacheBytes = (16L << 20).toDouble
  private val Log2 = math.log(2)

  /** Lookups of a number that one lookup of a row takes: its key is written, hashed and compared. */
  val ProbesPerRowKey = 4

  /** Comparisons that the sort of one number takes as long as. */
  private val StepsOfNumber = 3.0

  /** The share of accesses at random to so many bytes that a cache does not have. */
  private def missed(bytes: Double, cacheBytes: Double): Double = if (bytes <= cacheBytes) 0.0 else 1 - cacheBytes / bytes
}
