package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.filters.{BloomSizing, ExactSet}

/** How large a filter over a build side's keys will be: the kinds and sizes of the filters themselves, without the range bitmap that is only taken
  * where it is smaller. A Bloom filter may come out twice as large, or as 8 KiB: it is made for all rows and then halved while it can be.
  *
  * @param bytes
  *   bytes of memory
  * @param exact
  *   whether it is a set without false positives
  */
final case class FilterSize(bytes: Double, exact: Boolean)

object FilterSize {

  def of(build: BuildFacts, thresholds: Thresholds): FilterSize = {
    val keys = distinctKeys(build)
    val exactBytes = if (keys <= math.min(thresholds(AqeConf.FilterExactMaxKeys), ExactSet.MaxKeys.toLong)) ExactSet.bytesFor(keys.toInt)
    else Long.MaxValue
    if (keys == 0) FilterSize(0, exact = true)
    else if (exactBytes <= thresholds(AqeConf.FilterMaxBytes)) FilterSize(exactBytes.toDouble, exact = true)
    else FilterSize(BloomSizing.bytesFor(keys, thresholds(AqeConf.FilterFalsePositiveRate)).toDouble, exact = false)
  }

  /** Distinct keys, at most one per row. */
  private def distinctKeys(build: BuildFacts): Long = {
    val rows = math.max(0L, build.rows)
    build.keys.distinct.filter(_ >= 0).fold(rows)(math.min(_, rows))
  }
}
