package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf

/** Rules out broadcasts before prices are compared. */
object BroadcastChoice {

  /** Why the build side may not be broadcast; none when it may, or when it is broadcast already. */
  def ruledOut(facts: JoinFacts, thresholds: Thresholds): Option[Reason] = {
    import AqeConf.{BroadcastMaxMemoryBytes, BroadcastMaxRows}
    if (facts.build.alreadyBroadcast) None
    else if (!facts.canBroadcast) Some(Reason(ReasonCode.BroadcastJoinType))
    else {
      val (rows, bytes, columns) =
        (facts.build.rows.toDouble, relationBytes(facts.build, thresholds), facts.build.unmeasuredColumns.toDouble)
      Reason.above(ReasonCode.BroadcastRows, rows, thresholds(BroadcastMaxRows).toDouble, "rows", BroadcastMaxRows.key)
        .orElse(Reason.above(
          ReasonCode.BroadcastMemory,
          bytes,
          thresholds(BroadcastMaxMemoryBytes).toDouble,
          "bytes",
          thresholds.broadcastMemoryKey
        ))
        .orElse(Reason.above(ReasonCode.BroadcastWidth, columns, 0, "columns", thresholds.sparkThresholdKey)
          .filter(_ => facts.sparkStrategy != Strategy.Broadcast))
    }
  }

  /** Memory that the relation and its hash table take on the driver and on each executor. It cannot be derived from a stage's compressed
    * bytes.
    */
  def relationBytes(build: BuildFacts, thresholds: Thresholds): Double =
    math.max(0L, build.rows).toDouble * (math.max(0L, build.memoryBytesPerRow).toDouble + thresholds(AqeConf.BroadcastHashBytesPerRow))
}
