package io.aqeplugin.decide

import io.aqeplugin.conf.{AqeConf, Forced}

/** Decides whether a probe side waits for its build side: it does when `savingShare` × the estimated saving exceeds the price of idle
  * slots.
  *
  * The saving is what [[DecideJoin]] would save over Spark's own plan if the build side came out as estimated; a shuffled hash join without a
  * filter needs no wait. To this comes what the joins below save more if the filter leaves fewer rows of their build sides: its pass rate × the
  * rows of each. The price: while the build side has fewer tasks than there are slots, the other slots are idle unless another
  * stage has tasks for them; at its end, half the slots are idle for half a task on average; between its stages, all are idle until the next one is
  * planned and launched; and the probe side's stage is launched later.
  * {{{
  * work      build scan bytes × scanNanosPerByte + origin rows × rowPipelineNanosPerRow + build rows × (row bytes × shuffleNanosPerByte + shuffleNanosPerRow)
  * runs      work / min(slots, tasks)
  * launches  (stages in sequence - 1) × jobLaunchNanos
  * lasts     runs + launches
  * alone     max(0, 1 - time for which the scans wait for other joins anyway / lasts)
  * unused    runs × max(0, slots - tasks - other tasks) / slots
  * tail      work / tasks / 2 when tasks > slots
  * idle      alone × (unused + tail and launches when no other tasks)  +  jobLaunchNanos
  * }}}
  * So of several waits of one scan, those that end before the longest cost only the launch.
  * A join that is forced waits if its option needs it. Pure and total, like [[DecideJoin]].
  */
object WaitPrice {

  def decide(facts: WaitFacts, thresholds: Thresholds): WaitDecision = {
    val forced = thresholds(AqeConf.Force).of(facts.join.joinId).flatMap { option =>
      val modelled = priced(facts, thresholds.updated(AqeConf.Force, Forced.None))
      new ForcedChoice(expectedFacts(facts.join, facts.shufflePartitions), option, thresholds).waiting(modelled)
    }
    forced.getOrElse(priced(facts, thresholds))
  }

  private def priced(facts: WaitFacts, thresholds: Thresholds): WaitDecision = {
    val expected = expectedFacts(facts.join, facts.shufflePartitions)
    val decision = DecideJoin.decide(expected, thresholds)
    val below = if (decision.buildFilter) facts.reduced.map(savedBelow(facts, _, decision.passRate, thresholds)).sum else 0.0
    val saving = (savingNanos(decision, thresholds) + below) / CostModel.NanosPerMilli
    val runs = runNanos(facts, thresholds)
    val duration = runs + launchNanos(facts, thresholds)
    val idle = if (facts.join.probeWaitsAnyway) 0.0 else idleNanos(facts, runs, thresholds) / CostModel.NanosPerMilli
    val believed = saving * thresholds(AqeConf.WaitSavingShare)

    def waits(reason: Reason): WaitDecision = WaitDecision(true, reason, saving, idle, duration / CostModel.NanosPerMilli)
    def starts(reason: Reason, saving: Double = 0): WaitDecision =
      WaitDecision(false, reason, saving, idle, duration / CostModel.NanosPerMilli)

    if (expected.probe.started) starts(Reason(ReasonCode.ProbeStarted))
    else if (thresholds.openGates && isLegal(expected, thresholds))
      waits(Reason(ReasonCode.GatesOpen, confKey = AqeConf.TestOpenGates.key))
    else if (expected.build.rows < 0 || expected.probe.scanRows < 0) starts(Reason(ReasonCode.FactsMissing))
    else if (saving <= 0) starts(nothingToGain(decision))
    else if (idle > thresholds(AqeConf.WaitMaxIdle))
      starts(limited(ReasonCode.WaitTooLong, idle, thresholds(AqeConf.WaitMaxIdle).toDouble, AqeConf.WaitMaxIdle.key), saving)
    else if (believed > idle) waits(limited(ReasonCode.WaitPays, believed, idle, AqeConf.WaitSavingShare.key))
    else starts(limited(ReasonCode.NotWorthWaiting, believed, idle, AqeConf.WaitSavingShare.key), saving)
  }

  /** What a join below saves more over Spark's own plan if only this share of its build rows is left. */
  private def savedBelow(facts: WaitFacts, below: JoinFacts, passRate: Double, thresholds: Thresholds): Double = {
    def saved(rows: Long): Double = {
      val expected = expectedFacts(below.copy(build = below.build.copy(rows = rows)), facts.shufflePartitions)
      savingNanos(DecideJoin.decide(expected, thresholds), thresholds)
    }
    val rows = below.build.rows
    if (rows < 0) 0.0 else math.max(0.0, saved(math.ceil(rows * passRate).toLong) - saved(rows))
  }

  /** The facts of a join if its build side comes out as estimated. */
  private def expectedFacts(join: JoinFacts, shufflePartitions: Int): JoinFacts = {
    val build = join.build
    val bytes = math.max(0L, build.rows).toDouble * math.max(0L, build.memoryBytesPerRow)
    val partitions = math.max(1, shufflePartitions)
    join.copy(
      build = build.copy(
        stageBytes = bytes.toLong,
        partitions = partitions,
        maxPartitionBytes = (bytes / partitions).toLong,
        medianPartitionBytes = (bytes / partitions).toLong,
        alreadyBroadcast = join.sparkStrategy == Strategy.Broadcast
      ),
      probe = join.probe.withoutKeyRange
    )
  }

  /** Whether a filter is legal as far as is known. Its size is not: the limit is checked once the build side is measured. */
  private def isLegal(expected: JoinFacts, thresholds: Thresholds): Boolean =
    FilterChoice.illegal(expected, FilterSize(0, exact = true), thresholds).isEmpty

  /** The price of Spark's own plan minus that of the decision; 0 for a decision that needs no wait. */
  private def savingNanos(decision: JoinDecision, thresholds: Thresholds): Double = {
    val facts = decision.facts
    val model = new CostModel(facts, decision.passRate, FilterSize.of(facts.build, thresholds), thresholds)
    val taken = decision.carriedOut(withFilter = true)
    if (taken == JoinOption.ShuffledHash) 0 else model.price(JoinOption(facts.sparkMethod, withFilter = false)) - model.price(taken)
  }

  private def slots(facts: WaitFacts): Double = math.max(1, facts.join.cluster.slots).toDouble
  private def tasks(facts: WaitFacts): Double = math.max(1, facts.buildTasks).toDouble

  /** How long the build side lasts without what lies between its stages. */
  private def runNanos(facts: WaitFacts, limits: Thresholds): Double = {
    val thresholds = limits.of(facts.join.engine)
    val build = facts.join.build
    val prices = new RowPrices(facts.join.cluster.executors, thresholds)
    val work = atLeastZero(facts.buildScanBytes) * thresholds(AqeConf.CostScanNanosPerByte) +
      atLeastZero(build.originRows.getOrElse(build.rows)) * thresholds(AqeConf.CostRowPipelineNanosPerRow) +
      atLeastZero(build.rows) * prices.shuffled(build.memoryBytesPerRow)
    work / math.min(slots(facts), tasks(facts))
  }

  private def launchNanos(facts: WaitFacts, thresholds: Thresholds): Double =
    math.max(0, facts.buildStages - 1) * thresholds(AqeConf.CostJobLaunchNanos).toDouble

  private def idleNanos(facts: WaitFacts, runNanos: Double, thresholds: Thresholds): Double = {
    val others = math.max(0, facts.otherRunnableTasks).toDouble
    val unused = runNanos * math.max(0.0, slots(facts) - tasks(facts) - others) / slots(facts)
    val tail = if (tasks(facts) > slots(facts) && others == 0) runNanos * slots(facts) / tasks(facts) / 2 else 0.0
    val launches = launchNanos(facts, thresholds)
    val lasts = runNanos + launches
    val heldNanos = math.max(0.0, facts.heldMillis) * CostModel.NanosPerMilli
    val alone = if (lasts > 0) math.max(0.0, 1 - heldNanos / lasts) else 1.0
    alone * (unused + tail + (if (others == 0) launches else 0.0)) + thresholds(AqeConf.CostJobLaunchNanos)
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
