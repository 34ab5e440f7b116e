package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf

/** Decides whether a probe side waits for its build side: it does when `savingShare` × the estimated saving exceeds the price of idle
  * slots.
  *
  * The saving is what [[DecideJoin]] would save over Spark's own plan if the build side came out as estimated. The price: while the build
  * side has fewer tasks than there are slots, the other slots are idle unless another stage has tasks for them; at its end, half the slots
  * are idle for half a task on average; and the probe side's stage is launched later.
  * {{{
  * work    build scan bytes × scanNanosPerByte + origin rows × rowPipelineNanosPerRow + build rows × (row bytes × shuffleNanosPerByte + shuffleNanosPerRow)
  * lasts   work / min(slots, tasks)
  * idle    lasts × max(0, slots - tasks - other tasks) / slots  +  work / tasks / 2 when tasks > slots and no other tasks  +  jobLaunchNanos
  * }}}
  * Pure and total, like [[DecideJoin]].
  */
object WaitPrice {

  def decide(facts: WaitFacts, thresholds: Thresholds): WaitDecision = {
    val expected = expectedFacts(facts)
    val decision = DecideJoin.decide(expected, thresholds)
    val saving = savingNanos(decision, thresholds) / CostModel.NanosPerMilli
    val idle = if (facts.waitsAnyway) 0.0 else idleNanos(facts, thresholds) / CostModel.NanosPerMilli
    val believed = saving * thresholds(AqeConf.WaitSavingShare)

    if (expected.probe.started) WaitDecision(false, Reason(ReasonCode.ProbeStarted), 0, idle)
    else if (thresholds.openGates && isLegal(expected, thresholds))
      WaitDecision(true, Reason(ReasonCode.GatesOpen, confKey = AqeConf.TestOpenGates.key), saving, idle)
    else if (expected.build.rows < 0 || expected.probe.scanRows < 0) WaitDecision(false, Reason(ReasonCode.FactsMissing), 0, idle)
    else if (saving <= 0) WaitDecision(false, nothingToGain(decision), 0, idle)
    else if (idle > thresholds(AqeConf.WaitMaxIdle))
      WaitDecision(
        false,
        limited(ReasonCode.WaitTooLong, idle, thresholds(AqeConf.WaitMaxIdle).toDouble, AqeConf.WaitMaxIdle.key),
        saving,
        idle
      )
    else if (believed > idle) WaitDecision(true, limited(ReasonCode.WaitPays, believed, idle, AqeConf.WaitSavingShare.key), saving, idle)
    else WaitDecision(false, limited(ReasonCode.NotWorthWaiting, believed, idle, AqeConf.WaitSavingShare.key), saving, idle)
  }

  /** The facts of the join if the build side comes out as estimated. */
  private def expectedFacts(facts: WaitFacts): JoinFacts = {
    val build = facts.join.build
    val bytes = math.max(0L, build.rows).toDouble * math.max(0L, build.memoryBytesPerRow)
    val partitions = math.max(1, facts.shufflePartitions)
    facts.join.copy(
      build = build.copy(
        stageBytes = bytes.toLong,
        partitions = partitions,
        maxPartitionBytes = (bytes / partitions).toLong,
        medianPartitionBytes = (bytes / partitions).toLong,
        alreadyBroadcast = facts.join.sparkStrategy == Strategy.Broadcast
      ),
      probe = facts.join.probe.withoutKeys
    )
  }

  /** Whether a filter is legal as far as is known. Its size is not: the limit is checked once the build side is measured. */
  private def isLegal(expected: JoinFacts, thresholds: Thresholds): Boolean =
    FilterChoice.illegal(expected, FilterSize(0, exact = true), thresholds).isEmpty

  /** The price of Spark's own plan minus that of the decision. */
  private def savingNanos(decision: JoinDecision, thresholds: Thresholds): Double = {
    val facts = decision.facts
    val model = new CostModel(facts, decision.passRate, FilterSize.of(facts.build, thresholds), thresholds)
    val method = if (facts.sparkStrategy == Strategy.Broadcast) Method.Broadcast else Method.SortMerge
    val spark = JoinOption(method, withFilter = false)
    val taken = JoinOption(decision.method.getOrElse(method), decision.buildFilter)
    model.price(spark) - model.price(taken)
  }

  private def idleNanos(facts: WaitFacts, thresholds: Thresholds): Double = {
    val build = facts.join.build
    val slots = math.max(1, facts.join.cluster.slots).toDouble
    val tasks = math.max(1, facts.buildTasks).toDouble
    val others = math.max(0, facts.otherRunnableTasks).toDouble
    val shuffleNanosPerRow =
      atLeastZero(build.memoryBytesPerRow) * thresholds(AqeConf.CostShuffleNanosPerByte) + thresholds(AqeConf.CostShuffleNanosPerRow)
    val work = atLeastZero(facts.buildScanBytes) * thresholds(AqeConf.CostScanNanosPerByte) +
      atLeastZero(build.originRows.getOrElse(build.rows)) * thresholds(AqeConf.CostRowPipelineNanosPerRow) +
      atLeastZero(build.rows) * shuffleNanosPerRow
    val unused = work / math.min(slots, tasks) * math.max(0.0, slots - tasks - others) / slots
    val tail = if (tasks > slots && others == 0) work / tasks / 2 else 0.0
    unused + tail + thresholds(AqeConf.CostJobLaunchNanos)
  }

  private def nothingToGain(decision: JoinDecision): Reason =
    // The obstacle to the filter is a better reason than "nothing to gain", unless the filter only costs too much.
    decision.filterReason.code match {
      case ReasonCode.FilterPays | ReasonCode.FilterCostsMore | ReasonCode.Tie => Reason(ReasonCode.NothingToGain)
      case _                                                                   => decision.filterReason
    }

  private def limited(code: ReasonCode, measured: Double, limit: Double, confKey: String): Reason =
    Reason(code, Some(measured), Some(limit), "millis", confKey)

  private def atLeastZero(count: Long): Double = math.max(0L, count).toDouble
}
