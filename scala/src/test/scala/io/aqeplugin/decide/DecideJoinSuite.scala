package io.aqeplugin.decide

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.AqeConf

class DecideJoinSuite extends AnyFunSuite {
  import FactsGen.Typical

  private val thresholds = Thresholds.Default

  private def decide(facts: JoinFacts, held: Thresholds = thresholds): JoinDecision = DecideJoin.decide(facts, held)

  private def reasonOf(decision: JoinDecision, option: JoinOption): ReasonCode =
    decision.options.filter(_.option == option).map(_.reason.code).head

  private def build(change: BuildFacts => BuildFacts): JoinFacts = Typical.copy(build = change(Typical.build))

  test("a small build side is broadcast, and its keys filter the probe side's scan") {
    val decision = decide(Typical)
    assert(decision.choice == Strategy.Broadcast)
    assert(decision.reason.code == ReasonCode.Cheapest)
    assert(decision.buildFilter && decision.filterReason.code == ReasonCode.FilterPays)
    assert(reasonOf(decision, JoinOption.SortMerge) == ReasonCode.Costlier)
    assert(reasonOf(decision, JoinOption.FilteredSortMerge) == ReasonCode.Costlier)
    assert(reasonOf(decision, JoinOption.Broadcast) == ReasonCode.Costlier)
  }

  test("a build side too large for memory filters a sort-merge join") {
    val decision = decide(build(_.copy(rows = 2000000, originRows = Some(100000000))))
    assert(decision.choice == Strategy.FilteredSortMerge)
    assert(reasonOf(decision, JoinOption.Broadcast) == ReasonCode.BroadcastMemory)
    assert(decision.buildFilter)
  }

  test("a large build side with a high pass rate leaves a plain sort-merge join") {
    val decision = decide(build(_.copy(rows = 2500000, keys = KeyFacts(1, supported = true))))
    assert(decision.choice == Strategy.PlainSortMerge)
    assert(!decision.buildFilter && decision.filterReason.code == ReasonCode.PassRateTooHigh)
    assert(reasonOf(decision, JoinOption.FilteredSortMerge) == ReasonCode.PassRateTooHigh)
  }

  test("a small stage is not broadcast if its rows are large in memory") {
    val facts = build(_.copy(rows = 4000000, stageBytes = 8 << 20, memoryBytesPerRow = 500, originRows = None))
    val decision = decide(facts.copy(sparkStrategy = Strategy.Broadcast))
    assert(decision.choice == Strategy.PlainSortMerge || decision.choice == Strategy.FilteredSortMerge)
    val reason = decision.options.head.reason
    assert(reason.code == ReasonCode.BroadcastMemory)
    assert(reason.measured.contains(4000000.0 * 548) && reason.limit.contains((128 << 20).toDouble) && reason.unit == "bytes")
    assert(reason.confKey == "spark.aqePlugin.broadcast.maxMemoryBytes")
  }

  test("a sort pays for the bytes that its tasks have no memory for, and a filter spares it some of them") {
    val taskBytes = 32L << 10
    val facts = Typical.copy(orderUsed = true, memory = Some(MemoryFacts(1L << 40, 0, Some(taskBytes))))
    def nanos(name: String, option: JoinOption): Double =
      decide(facts).options.filter(_.option == option).flatMap(_.terms).filter(_.name == name).map(_.nanos).sum
    val decision = decide(facts)
    def spilled(passing: Double): Double = {
      val sorted = facts.probe.rows * passing * facts.probe.rowBytes
      (sorted - 2.0 * taskBytes * facts.build.partitions) * thresholds(AqeConf.CostShuffleNanosPerByte) / facts.cluster.slots
    }
    assert(spilled(decision.passRate) > 0)
    assert(nanos("spill", JoinOption.SortMerge) == spilled(1.0))
    assert(nanos("spill", JoinOption.FilteredSortMerge) == spilled(decision.passRate))
    assert(nanos("spill above", JoinOption.FilteredBroadcast) == spilled(decision.passRate))
    assert(decide(facts.copy(memory = None)).options.flatMap(_.terms).forall(!_.name.startsWith("spill")))
  }

  test("a hint that nobody wrote is the command's") {
    val decision = decide(Typical.copy(hint = Some("no_broadcast_and_replication")))
    assert(decision.choice == Strategy.LeaveToSpark && decision.reason.code == ReasonCode.CommandHint)
  }

  test("a hint fixes the method and leaves the filter open") {
    val decision = decide(Typical.copy(hint = Some("merge")))
    assert(decision.choice == Strategy.LeaveToSpark && decision.reason.code == ReasonCode.Hint)
    assert(decision.buildFilter && decision.filterReason.code == ReasonCode.FilterPays)
  }

  private val LargeForATask = Some(MemoryFacts(limitBytes = 1L << 30, heldBytes = 0, taskBytes = Some(1L << 20)))

  test("a join whose probe side has started is hashed if a task can hold the build side") {
    val decision = decide(Typical.copy(probe = Typical.probe.copy(started = true)))
    assert(decision.choice == Strategy.ShuffledHash && decision.reason.code == ReasonCode.Cheapest && !decision.buildFilter)
    assert(reasonOf(decision, JoinOption.SortMerge) == ReasonCode.Costlier)
    assert(reasonOf(decision, JoinOption.Broadcast) == ReasonCode.ProbeStarted)
  }

  test("a join whose probe side has started is left alone if its build side is large for a task") {
    val decision = decide(Typical.copy(probe = Typical.probe.copy(started = true), memory = LargeForATask))
    assert(reasonOf(decision, JoinOption.ShuffledHash) == ReasonCode.ShuffledHashMemory)
    assert(decision.choice == Strategy.LeaveToSpark && decision.reason.code == ReasonCode.ProbeStarted)
    assert(!decision.buildFilter && decision.filterReason.code == ReasonCode.ProbeStarted)
  }

  test("a started probe side has the reason why it did not wait") {
    val why = Reason(ReasonCode.NotWorthWaiting, Some(12.0), Some(40.0), "millis")
    val running = Typical.copy(probe = Typical.probe.copy(started = true), memory = LargeForATask)
    val decision = decide(running.copy(waiting = Some(WaitDecision(waits = false, why, 24.0, 40.0))))
    assert(decision.choice == Strategy.LeaveToSpark && decision.reason == why && decision.filterReason == why)
    val held = decide(running.copy(waiting = Some(WaitDecision(waits = true, why, 24.0, 40.0))))
    assert(held.reason.code == ReasonCode.ProbeStarted)
  }

  test("a filter that reaches no scan any more has the reason why its probe side was released") {
    val released = Reason(ReasonCode.WaitReleased, Some(9.0), Some(5.0), "millis")
    val unreached = Typical.copy(probe = Typical.probe.copy(targets = 0))
    def why(wait: Reason): Reason =
      decide(unreached.copy(waiting = Some(WaitDecision(waits = false, wait, 24.0, 40.0)))).filterReason
    assert(why(released) == released)
    assert(why(Reason(ReasonCode.NotWorthWaiting)).code == ReasonCode.NoTargetScan)
  }

  test("a tie keeps Spark's own plan") {
    val facts = Typical.copy(kind = JoinKind.LeftOuter, memory = LargeForATask)
    assert(decide(facts).choice == Strategy.Broadcast)
    val tied = decide(facts, thresholds.updated(AqeConf.CostTieRatio, 1.0))
    assert(tied.choice == Strategy.PlainSortMerge && tied.reason.code == ReasonCode.Tie)
    assert(reasonOf(tied, JoinOption.Broadcast) == ReasonCode.Tie)
  }

  test("a tie of a filter names the share of a tie, also below the launch of a stage") {
    val facts = build(_.copy(alreadyBroadcast = true))
      .copy(sparkStrategy = Strategy.Broadcast, probe = Typical.probe.copy(exchanges = 0))
    def filterReason(launchNanos: Double, tieRatio: Double = 0): Reason = {
      val held = thresholds.updated(AqeConf.CostJobLaunchNanos, launchNanos).updated(AqeConf.CostTieRatio, tieRatio)
      decide(facts, held).filterReason
    }
    val free = filterReason(launchNanos = 0)
    val savedNanos = (free.limit.sum - free.measured.sum) * CostModel.NanosPerMilli
    // A filter takes one launch more, and nothing beyond that.
    assert(filterReason(savedNanos * 0.99).code == ReasonCode.FilterPays)
    assert(filterReason(savedNanos * 1.01).code == ReasonCode.FilterCostsMore)
    assert(filterReason(savedNanos * 0.5, tieRatio = 1).confKey == AqeConf.CostTieRatio.key)
  }

  test("a filter on a partition column saves the files that it leaves out") {
    def cost(option: JoinOption, prunableBytes: Long): Double =
      decide(Typical.copy(probe = Typical.probe.copy(prunableBytes = prunableBytes))).options
        .find(_.option == option).flatMap(_.costMillis).getOrElse(fail("no price"))
    def dearer(option: JoinOption): Double = cost(option, 1000000000L) - cost(option, 0)
    val wholeMillis = 1e9 * thresholds(AqeConf.CostScanNanosPerByte) / Typical.cluster.slots / CostModel.NanosPerMilli
    val passRate = decide(Typical).passRate
    assert(math.abs(dearer(JoinOption.SortMerge) - wholeMillis) < 1e-6)
    assert(math.abs(dearer(JoinOption.FilteredSortMerge) - wholeMillis * passRate) < 1e-6)
  }

  test("a filter saves what the scan reads of files without a key, and the check of their rows; none of these passes") {
    val cheap =
      build(_.copy(rows = 31, originRows = Some(31), alreadyBroadcast = true, keys = KeyFacts(columns = 1, supported = true))).copy(
        sparkStrategy = Strategy.Broadcast,
        probe = Typical.probe.copy(rows = 1000000, scanRows = 1000000, exchanges = 0, keys = None)
      )
    def of(bytes: Long, share: Double) = decide(cheap.copy(probe = cheap.probe.copy(keyless = Some(KeylessFiles(bytes, share)))))
    def terms(decision: JoinDecision, option: JoinOption) =
      decision.options.find(_.option == option).fold(Map.empty[String, Double])(_.terms.map(term => term.name -> term.nanos).toMap)
    assert(decide(cheap).filterReason.code == ReasonCode.PassRateTooHigh)
    val (small, large) = (of(1000000L, 0.75), of(1000000000L, 0.75))
    assert(small.passRate == 0.25 && small.passRateSource == PassRateSource.Files)
    assert(small.filterReason.code == ReasonCode.FilterCostsMore && large.filterReason.code == ReasonCode.FilterPays)
    assert(terms(large, JoinOption.Broadcast)("scan") == 1e9 * thresholds(AqeConf.CostScanNanosPerByte) / cheap.cluster.slots)
    assert(!terms(large, JoinOption.FilteredBroadcast).contains("scan"))
    assert(terms(
      of(1000000L, 0.5),
      JoinOption.FilteredBroadcast
    )("filter check") == 2 * terms(small, JoinOption.FilteredBroadcast)("filter check"))
  }

  test("a filter on a partition column saves the opening of the files that it leaves out") {
    def cost(option: JoinOption, files: Long): Double =
      decide(Typical.copy(probe = Typical.probe.copy(prunableBytes = 1, prunableFiles = files))).options
        .find(_.option == option).flatMap(_.costMillis).getOrElse(fail("no price"))
    def dearer(option: JoinOption): Double = cost(option, 1000) - cost(option, 0)
    val wholeMillis = 1000 * thresholds(AqeConf.CostFileOpenNanos) / Typical.cluster.slots / CostModel.NanosPerMilli
    assert(math.abs(dearer(JoinOption.SortMerge) - wholeMillis) < 1e-6)
    assert(math.abs(dearer(JoinOption.FilteredSortMerge) - wholeMillis * decide(Typical).passRate) < 1e-6)
  }

  test("a filter pays for many small files without a key, which it need not open") {
    val small =
      build(_.copy(rows = 31, originRows = Some(31), alreadyBroadcast = true, keys = KeyFacts(columns = 1, supported = true))).copy(
        sparkStrategy = Strategy.Broadcast,
        probe = Typical.probe.copy(rows = 30000, scanRows = 30000, exchanges = 0, keys = None)
      )
    def reason(files: Long) =
      decide(small.copy(probe = small.probe.copy(keyless = Some(KeylessFiles(1000000L, 0.75, files))))).filterReason.code
    assert(reason(files = 0) == ReasonCode.FilterCostsMore)
    // Few rows alone are worth no filter, unless their files take longer to open than a job to launch.
    def ofFewRows(files: Long) =
      decide(small.copy(probe = small.probe.copy(rows = 10000, scanRows = 10000, keyless = Some(KeylessFiles(1000000L, 0.75, files)))))
        .filterReason.code
    assert(ofFewRows(files = 1) == ReasonCode.TooFewRows && ofFewRows(files = 225) == ReasonCode.FilterPays)
    assert(reason(files = 225) == ReasonCode.FilterPays)
  }

  test("a filter that saves little in the scan pays if it spares its rows a join below") {
    val facts = build(_.copy(rows = 31, originRows = Some(3100), alreadyBroadcast = true)).copy(
      sparkStrategy = Strategy.Broadcast,
      probe = Typical.probe.copy(rows = 100000, scanRows = 500000, exchanges = 0)
    )
    assert(decide(facts).filterReason.code == ReasonCode.FilterCostsMore)
    val join = PathStep.Lookup(1000000, tableRows = 300000, tableRowBytes = 40)
    assert(decide(facts.copy(probe = facts.probe.copy(path = Seq(join)))).filterReason.code == ReasonCode.FilterPays)
  }

  test("a shuffle below the join is priced with its own rows, in every option, and launched") {
    def cost(option: JoinOption, path: Seq[PathStep]): Double =
      decide(Typical.copy(probe = Typical.probe.copy(exchanges = 1 + path.size, path = path))).options
        .find(_.option == option).flatMap(_.costMillis).getOrElse(fail("no price"))
    val rows = 7000000L
    val shuffle = PathStep.Shuffle(rows, rowBytes = 100)
    def dearer(option: JoinOption): Double = cost(option, Seq(shuffle)) - cost(option, Nil)
    val launchMillis = thresholds(AqeConf.CostJobLaunchNanos) / CostModel.NanosPerMilli
    val wholeMillis = rows * (100 * thresholds(AqeConf.CostShuffleNanosPerByte) + thresholds(AqeConf.CostShuffleNanosPerRow)) /
      Typical.cluster.slots / CostModel.NanosPerMilli
    val passRate = decide(Typical).passRate
    Seq(JoinOption.SortMerge, JoinOption.Broadcast).foreach(option => assert(math.abs(dearer(option) - wholeMillis - launchMillis) < 1e-6))
    assert(math.abs(dearer(JoinOption.FilteredSortMerge) - wholeMillis * passRate - launchMillis) < 1e-6)
  }

  test("where the rows that a filter leaves filter other scans, what these are spared counts for the filter") {
    def cost(option: JoinOption, path: Seq[PathStep]): Double =
      decide(Typical.copy(probe = Typical.probe.copy(path = path))).options
        .find(_.option == option).flatMap(_.costMillis).getOrElse(fail("no price"))
    def dearer(option: JoinOption, step: PathStep): Double = cost(option, Seq(step)) - cost(option, Nil)
    val rows = 3000000L
    val nanosPerRow = thresholds(AqeConf.CostRowPipelineNanosPerRow) + 100 * thresholds(AqeConf.CostShuffleNanosPerByte) +
      thresholds(AqeConf.CostShuffleNanosPerRow)
    def millis(share: Double): Double = rows * share * nanosPerRow / Typical.cluster.slots / CostModel.NanosPerMilli
    val passRate = decide(Typical).passRate
    val half = PathStep.FilterSource(1000, keys = 2000, rows, rowBytes = 100)
    assert(math.abs(dearer(JoinOption.SortMerge, half) - millis(0.5 - 0.5 * passRate)) < 1e-6)
    assert(math.abs(dearer(JoinOption.Broadcast, half) - millis(0.5 - 0.5 * passRate)) < 1e-6)
    assert(dearer(JoinOption.FilteredSortMerge, half) == 0)
    // Without the filter so many rows would pass there that nothing would be filtered.
    assert(math.abs(dearer(JoinOption.SortMerge, half.copy(rows = 1900)) - millis(1 - 0.95 * passRate)) < 1e-6)
  }

  test("a broadcast below the join is collected, hashed by one thread and sent to every executor") {
    def cost(path: Seq[PathStep]): Double =
      decide(Typical.copy(probe = Typical.probe.copy(path = path))).options
        .find(_.option == JoinOption.SortMerge).flatMap(_.costMillis).getOrElse(fail("no price"))
    val rows = 3000000L
    val nanosPerByte =
      thresholds(AqeConf.CostCollectNanosPerByte) + thresholds(AqeConf.CostBroadcastNanosPerByte) * Typical.cluster.executors
    val millis = rows * (20 * nanosPerByte + thresholds(AqeConf.CostHashBuildNanosPerRow)) / CostModel.NanosPerMilli
    assert(math.abs(cost(Seq(PathStep.Broadcast(rows, rowBytes = 20, probeRows = 0))) - cost(Nil) - millis) < 1e-6)
  }

  test("a filter build reads whole rows back from a shuffle, and nothing where the driver has the keys or the rows are broadcast") {
    def terms(change: BuildFacts => BuildFacts): Map[String, Double] =
      decide(build(change)).options.filter(_.option.withFilter).flatMap(_.terms).map(term => term.name -> term.nanos).toMap
    val rows = Typical.build.rows
    def ofShuffle(bytesPerRow: Long): Double = rows * bytesPerRow * thresholds(AqeConf.CostShuffleNanosPerByte) / 10 / Typical.cluster.slots
    Seq(16L, 1000L).foreach { bytes =>
      assert(math.abs(terms(_.copy(memoryBytesPerRow = bytes))("filter read") / ofShuffle(bytes) - 1) < 1e-9)
    }
    val withoutReading = Seq[BuildFacts => BuildFacts](
      of => of.copy(keys = of.keys.copy(distinct = Some(rows), kept = true)),
      _.copy(rows = 31, alreadyBroadcast = true)
    ).map(terms)
    assert(withoutReading.forall(found => found.contains("filter build") && !found.contains("filter read")))
  }

  test("a probe by a key of several columns costs four of one column, and misses the cache in a large broadcast") {
    def probe(columns: Int, rows: Long): Map[String, Double] =
      decide(build(of => of.copy(rows = rows, alreadyBroadcast = true, keys = of.keys.copy(columns = columns)))).options
        .find(_.option == JoinOption.Broadcast).fold(Map.empty[String, Double])(_.terms.map(term => term.name -> term.nanos).toMap)
    assert(probe(2, 1000)("hash probe") == 4 * probe(1, 1000)("hash probe"))
    assert(Seq(probe(2, 1000), probe(1, 1000000)).forall(!_.contains("hash misses")) && probe(2, 1000000).contains("hash misses"))
  }

  test("a hash join of shuffles costs less where the build rows are spread than where they are in one partition") {
    def cost(maxPartitionBytes: Long): Option[Double] =
      decide(build(_.copy(maxPartitionBytes = maxPartitionBytes))).options.find(_.option == JoinOption.ShuffledHash).flatMap(_.costMillis)
    val spread = cost(Typical.build.stageBytes / 200)
    assert(spread == cost(Typical.build.stageBytes / 2))
    assert(spread.zip(cost(Typical.build.stageBytes)).exists { case (less, more) => less < more })
  }

  test("an order that is used above makes hashing dearer by a sort, and a broadcast by a sort and a shuffle") {
    def cost(option: JoinOption, orderUsed: Boolean): Double =
      decide(Typical.copy(orderUsed = orderUsed)).options.find(_.option == option).flatMap(_.costMillis).getOrElse(fail("no price"))
    def dearer(option: JoinOption): Double = cost(option, orderUsed = true) - cost(option, orderUsed = false)
    assert(dearer(JoinOption.SortMerge) == 0)
    assert(dearer(JoinOption.ShuffledHash) > 0 && dearer(JoinOption.Broadcast) > dearer(JoinOption.ShuffledHash))
  }

  test("a build side that needs one more shuffle is dearer to hash or to sort, and not to broadcast") {
    def cost(option: JoinOption, exchanges: Int): Double =
      decide(build(_.copy(exchanges = exchanges))).options.find(_.option == option).flatMap(_.costMillis).getOrElse(fail("no price"))
    def dearer(option: JoinOption): Double = cost(option, exchanges = 1) - cost(option, exchanges = 0)
    val launchMillis = Thresholds.Default(AqeConf.CostJobLaunchNanos) / 1e6
    assert(
      dearer(JoinOption.Broadcast) == 0 && dearer(JoinOption.ShuffledHash) > launchMillis && dearer(JoinOption.SortMerge) > launchMillis
    )
  }

  test("a broadcast is not given up for less than the launch of a stage") {
    val small = Typical.copy(
      sparkStrategy = Strategy.Broadcast,
      build = Typical.build.copy(rows = 1000, stageBytes = 40000, maxPartitionBytes = 300, exchanges = 1),
      probe = Typical.probe.copy(rows = 4, scanRows = 4, exchanges = 0, targets = 0)
    )
    val decision = decide(small)
    assert(decision.choice == Strategy.Broadcast && decision.reason.code == ReasonCode.Tie, decision)
  }

  test("a strategy that the plugin does not price stays, and may get a filter") {
    val decision = decide(Typical.copy(sparkStrategy = Strategy.LeaveToSpark))
    assert(decision.choice == Strategy.LeaveToSpark && decision.reason.code == ReasonCode.OtherStrategy && decision.buildFilter)
  }

  for (hint <- Seq(None, Some("shuffle_hash")))
    test(s"a shuffled hash join of Spark's stays and is priced as one, ${hint.fold("as AQE wants")(_ => "as its author wants")}") {
      val decision = decide(Typical.copy(sparkStrategy = Strategy.ShuffledHash, hint = hint))
      assert(decision.choice == Strategy.LeaveToSpark && decision.facts.sparkMethod == Method.ShuffledHash)
      val price = decision.options.find(_.option == JoinOption.ShuffledHash).flatMap(_.costMillis)
      assert(decision.filterReason.code == ReasonCode.FilterPays && decision.filterReason.limit == price)
    }

  test("a shuffled hash join of Spark's has its price whatever the memory of a task, of which it takes its part") {
    for (memory <- Seq(None, LargeForATask, Typical.memory)) {
      val decision = decide(Typical.copy(sparkStrategy = Strategy.ShuffledHash, memory = memory))
      assert(decision.options.filter(_.option.method == Method.ShuffledHash).forall(_.costMillis.isDefined))
      assert(ShuffledHashChoice.heldBy(decision, Thresholds.Default) > 0)
    }
  }

  test("an obstacle in the plan is the reason against the filter") {
    val decision = decide(Typical.copy(filterObstacle = Some(ReasonCode.ReusedExchange)))
    assert(!decision.buildFilter && decision.filterReason.code == ReasonCode.ReusedExchange)
    assert(reasonOf(decision, JoinOption.FilteredBroadcast) == ReasonCode.ReusedExchange)
  }

  test("a join in a broadcast probe side gets a filter if its relation is broadcast") {
    val decision = decide(build(_.copy(alreadyBroadcast = true)).copy(sparkStrategy = Strategy.Broadcast))
    assert(decision.choice == Strategy.Broadcast && decision.reason.code == ReasonCode.AlreadyBroadcast && decision.buildFilter)
    assert(reasonOf(decision, JoinOption.SortMerge) == ReasonCode.AlreadyBroadcast)
  }

  for {
    kind <- JoinKind.All
    side <- Seq(Side.Left, Side.Right)
    if !kind.mayFilter(side.other)
  } test(s"a ${kind.name} join built from the ${side.name} keeps every probe row") {
    Seq(false, true).foreach { open =>
      val decision = decide(Typical.copy(kind = kind, buildSide = side), thresholds.updated(AqeConf.TestOpenGates, open))
      assert(!decision.buildFilter && decision.filterReason.code == ReasonCode.JoinType)
    }
  }

  test("a join left alone before measurement has one reason for all open options") {
    val reason = Reason(ReasonCode.NotWorthWaiting, Some(12.0), Some(25.0), "millis")
    val open = DecideJoin.leftAlone(Typical, thresholds, reason)
    assert(open.choice == Strategy.LeaveToSpark && open.reason == reason)
    assert(!open.buildFilter && open.filterReason == reason)
    assert(open.options.map(_.reason) == Seq.fill(JoinOption.All.size)(reason))
    val hinted = DecideJoin.leftAlone(Typical.copy(hint = Some("merge")), thresholds, reason)
    assert(hinted.reason.code == ReasonCode.Hint && hinted.filterReason == reason)
    val barred = DecideJoin.leftAlone(Typical.copy(canBroadcast = false), thresholds, reason)
    assert(reasonOf(barred, JoinOption.Broadcast) == ReasonCode.BroadcastJoinType)
    assert(reasonOf(barred, JoinOption.SortMerge) == ReasonCode.NotWorthWaiting)
    assert(!DecideJoin.leftAlone(Typical, thresholds.updated(AqeConf.TestOpenGates, true), reason).buildFilter)
  }
}
