package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.filters.{BloomSizing, ExactSet, RangeFilter}

/** The estimated size of a filter over a build side's keys, without range bitmaps, which are used only where they are smaller.
  *
  * @param bytes
  *   bytes of memory
  * @param exact
  *   whether the filter is a set without false positives
  */
final case class FilterSize(bytes: Double, exact: Boolean) {

  /** What a real filter takes at most: a Bloom filter is sized for all rows and then halved while its false-positive rate allows, down to
    * 8 KiB.
    */
  def mostBytes: Double = if (exact) bytes else math.max(2 * bytes, FilterSize.SmallestBloomBytes)
}

object FilterSize {
  private val SmallestBloomBytes = 8192.0

  def of(build: BuildFacts, thresholds: Thresholds): FilterSize = {
    val keys = distinctKeys(build)
    val exactBytes = if (keys <= math.min(thresholds(AqeConf.FilterExactMaxKeys), ExactSet.MaxKeys.toLong)) ExactSet.bytesFor(keys.toInt)
    else Long.MaxValue
    if (build.keys.asRange) FilterSize(RangeFilter.Bytes.toDouble, exact = true)
    else if (keys == 0) FilterSize(0, exact = true)
    else if (exactBytes <= thresholds(AqeConf.FilterMaxBytes)) FilterSize(exactBytes.toDouble, exact = true)
    else FilterSize(BloomSizing.bytesFor(keys, thresholds(AqeConf.FilterFalsePositiveRate)).toDouble, exact = false)
  }

  /** Distinct keys, at most the number of rows. */
  private def distinctKeys(build: BuildFacts): Long = {
    val rows = math.max(0L, build.rows)
    build.keys.distinct.filter(_ >= 0).fold(rows)(math.min(_, rows))
  }
}
