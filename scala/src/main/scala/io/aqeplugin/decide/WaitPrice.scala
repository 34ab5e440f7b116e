package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf

/** Whether a probe side waits for its build side: yes when `savingShare` × the expected saving exceeds the price of idle slots.
  *
  * The saving is what [[DecideJoin]] would save over Spark's own plan if the build side came out as estimated. The price: while the build side runs
  * on fewer tasks than there are slots, the others stand idle unless another stage has tasks for them; at its end, half the slots stand idle for
  * half a task on average; and the two stages start one after the other.
  * {{{
  * work    build scan bytes × scanNanosPerByte + origin rows × rowPipelineNanosPerRow + build rows × (row bytes × shuffleNanosPerByte + shuffleNanosPerRow)
  * lasts   work / min(slots, tasks)
  * idle    lasts × max(0, slots - tasks - other tasks) / slots  +  work / tasks / 2 when tasks > slots and no other tasks  +  jobLaunchNanos
  * }}}
  * Pure and total, as [[DecideJoin]].
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

  /** The facts of the join as they will be if the build side comes out as estimated. */
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

  /** Whether a filter is legal as far as is known. How large it will be is not: the cap is kept when the build side is measured. */
  private def isLegal(expected: JoinFacts, thresholds: Thresholds): Boolean =
    FilterChoice.illegal(expected, FilterSize(0, exact = true), thresholds).isEmpty

  /** Spark's own price less the price of what was chosen. */
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
    // What stands against the filter says more than that nothing is gained; only a filter that costs too much has nothing to add.
    decision.filterReason.code match {
      case ReasonCode.FilterPays | ReasonCode.FilterCostsMore | ReasonCode.Tie => Reason(ReasonCode.NothingToGain)
      case _                                                                   => decision.filterReason
    }

  private def limited(code: ReasonCode, measured: Double, limit: Double, confKey: String): Reason =
    Reason(code, Some(measured), Some(limit), "millis", confKey)

  private def atLeastZero(count: Long): Double = math.max(0L, count).toDouble
}
