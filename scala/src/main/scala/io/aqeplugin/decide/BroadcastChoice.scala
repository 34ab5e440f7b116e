package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf

/** Rules out broadcasts before prices are compared. */
object BroadcastChoice {

  /** Why the build side may not be broadcast; none when it may, or when it is broadcast already. */
  def ruledOut(facts: JoinFacts, thresholds: Thresholds): Option[Reason] = {
    import AqeConf.{BroadcastMaxMemoryBytes, BroadcastMaxRows}
    if (facts.build.alreadyBroadcast) None
    else if (!facts.canBroadcast) Some(Reason(ReasonCode.BroadcastJoinType))
    // Spark writes from the shuffle, of which AQE may make a single task. A probe side that is not shuffled is written by the tasks of its scan.
    else if (facts.written) Some(Reason(ReasonCode.MoreWriteTasks))
    else {
      val (rows, bytes, columns) =
        (facts.build.rows.toDouble, reservedBytes(facts, thresholds), facts.build.unmeasuredColumns.toDouble)
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

  /** What Spark counts as the relation's size, of which it holds `spark.sql.maxBroadcastTableSize` against it, and takes from storage memory:
    * the table of a key that is looked up as a row has whole pages, and a slot array that grows by doubling.
    */
  def reservedBytes(facts: JoinFacts, thresholds: Thresholds): Double = {
    val bytes = relationBytes(facts.build, thresholds)
    val pageBytes = facts.memory.fold(0L)(_.pageBytes)
    if (pageBytes <= 0 || !facts.build.keys.isLookedUpByRow) bytes
    else math.ceil(math.max(1.0, bytes) / pageBytes) * pageBytes + slots(math.max(0L, facts.build.rows).toDouble) * SlotBytes
  }

  /** Spark begins with room for half as many keys again as there are rows, and doubles once half of the slots are used. */
  private def slots(rows: Double): Double = {
    def powerOf2(atLeast: Double): Double = math.pow(2, math.ceil(math.log(math.max(1.0, atLeast)) / math.log(2)))
    val first = math.max(LeastSlots, powerOf2(1.5 * rows + 1))
    if (first / 2 <= rows) 2 * first else first
  }

  private val LeastSlots = 64.0
  private val SlotBytes = 16
}
