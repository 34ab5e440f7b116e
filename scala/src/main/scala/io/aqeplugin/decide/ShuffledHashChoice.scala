package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf

/** Rules out shuffled hash joins before prices are compared.
  *
  * Each task hashes its partitions of the build side, and fails the query if they do not fit into the memory that it gets: Spark's hash
  * tables do not spill. How many rows a partition has is not known, because partitions with few distinct values are compressed more than
  * others. So the whole build side has to fit into what one task is sure to get. A shuffled hash join of Spark's own stays, whatever its size.
  */
object ShuffledHashChoice {

  /** Why the build side may not be hashed partition by partition; none when it may. */
  def ruledOut(facts: JoinFacts, thresholds: Thresholds): Option[Reason] = {
    val needed = BroadcastChoice.relationBytes(facts.build, thresholds)
    val limit = facts.memory.flatMap(limitBytes(_, thresholds(AqeConf.ShuffledHashMaxShare)))
    if (facts.build.alreadyBroadcast) Some(Reason(ReasonCode.AlreadyBroadcast))
    else if (facts.sparkMethod == Method.ShuffledHash) None
    else if (!facts.kind.mayHash(facts.buildSide)) Some(Reason(ReasonCode.ShuffledHashJoinType))
    else if (facts.build.unmeasuredColumns > 0) Some(memory(None, limit))
    else if (limit.forall(needed > _)) Some(memory(Some(needed), limit))
    else None
  }

  /** What is left of the share of a task's memory that the shuffled hash joins of a query may take together. */
  private def limitBytes(memory: MemoryFacts, maxShare: Double): Option[Double] = memory.taskBytes.map { left =>
    val hashed = math.max(0L, memory.hashedBytes).toDouble
    math.max(0.0, (left + hashed) * maxShare - hashed)
  }

  /** Bytes that one task may hold of the join's build side. */
  def heldBy(decision: JoinDecision, thresholds: Thresholds): Long =
    if (decision.method.getOrElse(decision.facts.sparkMethod) == Method.ShuffledHash)
      BroadcastChoice.relationBytes(decision.facts.build, thresholds).toLong
    else 0L

  private def memory(needed: Option[Double], limit: Option[Double]): Reason =
    Reason(ReasonCode.ShuffledHashMemory, needed, limit, "bytes", AqeConf.ShuffledHashMaxShare.key)
}
