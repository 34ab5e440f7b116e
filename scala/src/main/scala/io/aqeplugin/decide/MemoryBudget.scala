package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf

/** The memory that an application has for what the plugin adds to its queries: broadcasts that Spark would not make, and filters. Executors
  * hold each of them until its query ends, for which it is counted. The driver holds it for as long as the query's DataFrame is reachable.
  */
object MemoryBudget {

  /** Why an option may not be taken for lack of memory; none while nothing is known of it. */
  def exceeded(facts: JoinFacts, option: JoinOption, thresholds: Thresholds): Option[Reason] = {
    val needed = bytesOf(facts, option, thresholds)
    facts.memory.filter(_ => needed > 0).flatMap { memory =>
      Reason.above(ReasonCode.MemoryBudget, memory.heldBytes + needed, memory.limitBytes.toDouble, "bytes", AqeConf.MemoryMaxShare.key)
    }
  }

  /** Bytes that the query holds by its decision until it ends. */
  def heldBy(decision: JoinDecision, thresholds: Thresholds): Long = {
    val option = decision.carriedOut(withFilter = true)
    val bytes = bytesOf(decision.facts, option, thresholds)
    if (bytes >= Long.MaxValue) Long.MaxValue else bytes.toLong
  }

  private def bytesOf(facts: JoinFacts, option: JoinOption, thresholds: Thresholds): Double = {
    val isAdded = option.method == Method.Broadcast && facts.sparkMethod != Method.Broadcast
    val relation = if (isAdded) BroadcastChoice.reservedBytes(facts, thresholds) else 0.0
    relation + (if (option.withFilter) FilterSize.of(facts.build, thresholds).mostBytes else 0.0)
  }
}
