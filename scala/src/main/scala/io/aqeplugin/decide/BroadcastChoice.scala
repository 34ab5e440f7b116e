package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf

/** What speaks against broadcasting a build side before its price is looked at. */
object BroadcastChoice {

  /** A reason why the build side may not be broadcast; none when it is broadcast already. */
  def ruledOut(facts: JoinFacts, limits: BroadcastLimits): Option[Reason] = {
    val memoryBytes = relationBytes(facts.build, limits)
    if (facts.build.alreadyBroadcast) None
    else if (!facts.canBroadcast) Some(Reason(ReasonCode.BroadcastJoinType))
    else if (facts.build.rows > limits.maxRows)
      Some(
        Reason(
          ReasonCode.BroadcastRows,
          Some(facts.build.rows.toDouble),
          Some(limits.maxRows.toDouble),
          "rows",
          AqeConf.BroadcastMaxRows.key
        )
      )
    else if (memoryBytes > limits.maxMemoryBytes)
      Some(
        Reason(
          ReasonCode.BroadcastMemory,
          Some(memoryBytes),
          Some(limits.maxMemoryBytes.toDouble),
          "bytes",
          limits.memoryKey
        )
      )
    else if (facts.build.unmeasuredColumns > 0 && facts.sparkStrategy != Strategy.Broadcast)
      Some(Reason(ReasonCode.BroadcastWidth, Some(facts.build.unmeasuredColumns.toDouble), Some(0.0), "columns", limits.thresholdKey))
    else None
  }

  /** Bytes that the relation with its hash table takes on the driver and on each executor; compressed stage bytes say nothing about them. */
  def relationBytes(build: BuildFacts, limits: BroadcastLimits): Double =
    math.max(0L, build.rows).toDouble * (math.max(0L, build.memoryBytesPerRow).toDouble + limits.hashBytesPerRow)
}
