package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf

/** Rules out broadcasts before prices are compared. */
object BroadcastChoice {

  /** Why the build side may not be broadcast; none when it may, or when it is broadcast already. */
  def ruledOut(facts: JoinFacts, thresholds: Thresholds): Option[Reason] = {
    val memoryBytes = relationBytes(facts.build, thresholds)
    if (facts.build.alreadyBroadcast) None
    else if (!facts.canBroadcast) Some(Reason(ReasonCode.BroadcastJoinType))
    else if (facts.build.rows > thresholds(AqeConf.BroadcastMaxRows))
      Some(
        Reason(
          ReasonCode.BroadcastRows,
          Some(facts.build.rows.toDouble),
          Some(thresholds(AqeConf.BroadcastMaxRows).toDouble),
          "rows",
          AqeConf.BroadcastMaxRows.key
        )
      )
    else if (memoryBytes > thresholds(AqeConf.BroadcastMaxMemoryBytes))
      Some(
        Reason(
          ReasonCode.BroadcastMemory,
          Some(memoryBytes),
          Some(thresholds(AqeConf.BroadcastMaxMemoryBytes).toDouble),
          "bytes",
          thresholds.broadcastMemoryKey
        )
      )
    else if (facts.build.unmeasuredColumns > 0 && facts.sparkStrategy != Strategy.Broadcast)
      Some(Reason(
        ReasonCode.BroadcastWidth,
        Some(facts.build.unmeasuredColumns.toDouble),
        Some(0.0),
        "columns",
        thresholds.sparkThresholdKey
      ))
    else None
  }

  /** Memory that the relation and its hash table take on the driver and on each executor. It cannot be derived from a stage's compressed
    * bytes.
    */
  def relationBytes(build: BuildFacts, thresholds: Thresholds): Double =
    math.max(0L, build.rows).toDouble * (math.max(0L, build.memoryBytesPerRow).toDouble + thresholds(AqeConf.BroadcastHashBytesPerRow))
}
