package io.aqeplugin.decide

import org.scalacheck.Gen

import io.aqeplugin.conf.AqeConf

/** Facts of all kinds, the impossible ones included, and one plausible join to vary by hand. */
object FactsGen {

  /** 50,000 of 2.8 million build rows survive; 28 million probe rows come out of one scan and pass one shuffle. */
  val Typical: JoinFacts = JoinFacts(
    joinId = "join-1",
    kind = JoinKind.Inner,
    keys = Seq("sr_ticket_number", "sr_item_sk"),
    buildSide = Side.Right,
    build = BuildFacts(
      rows = 50000,
      stageBytes = 900000,
      memoryBytesPerRow = 40,
      partitions = 200,
      maxPartitionBytes = 5000,
      medianPartitionBytes = 4500,
      originRows = Some(2800000),
      alreadyBroadcast = false,
      keys = KeyFacts(columns = 2, supported = true)
    ),
    probe = ProbeFacts(rows = 28000000, scanRows = 28000000, rowBytes = 48, exchanges = 1, started = false, targets = 1),
    cluster = ClusterFacts(slots = 2, executors = 1),
    hint = None,
    sparkStrategy = Strategy.PlainSortMerge,
    canBroadcast = true,
    memory = Some(MemoryFacts(limitBytes = 1L << 30, heldBytes = 0, taskBytes = Some(64L << 20)))
  )

  private val count: Gen[Long] =
    Gen.frequency(
      6 -> Gen.choose(0L, 100000000L),
      2 -> Gen.oneOf(0L, 1L, 2L),
      1 -> Gen.oneOf(-1L, Long.MinValue, Long.MaxValue, Long.MaxValue - 1)
    )

  private val small: Gen[Int] = Gen.frequency(6 -> Gen.choose(0, 500), 1 -> Gen.oneOf(-1, Int.MinValue, Int.MaxValue))

  private val bucket: Gen[KeyBucket] = Gen.zip(count, count, count).map { case (low, high, rows) => KeyBucket(low, high, rows) }

  val keyFacts: Gen[KeyFacts] = for {
    columns <- small
    supported <- Gen.prob(0.9)
    distinct <- Gen.option(count)
    min <- Gen.option(count)
    max <- Gen.option(count)
    histogram <- Gen.resize(4, Gen.listOf(bucket))
    originDistinct <- Gen.option(count)
    kept <- Gen.prob(0.3)
    asRange <- Gen.prob(0.1)
    byRow <- Gen.prob(0.2)
    hashed <- Gen.prob(0.2)
    computed <- Gen.frequency(4 -> 0, 1 -> columns)
  } yield KeyFacts(columns, supported, distinct, None, min, max, histogram, originDistinct, kept, asRange, byRow, hashed, computed)

  val buildFacts: Gen[BuildFacts] = for {
    rows <- count
    stageBytes <- count
    rowBytes <- Gen.frequency(5 -> Gen.choose(1L, 1000L), 1 -> count)
    partitions <- small
    maxPartitionBytes <- count
    originRows <- Gen.option(count)
    alreadyBroadcast <- Gen.prob(0.2)
    keys <- keyFacts
    unmeasuredColumns <- Gen.frequency(5 -> Gen.const(0), 1 -> Gen.choose(0, 3))
    source <- Gen.option(Gen.oneOf(EstimateSource.All))
    exchanges <- Gen.frequency(5 -> Gen.const(0), 1 -> Gen.choose(0, 2))
  } yield BuildFacts(
    rows,
    stageBytes,
    rowBytes,
    partitions,
    maxPartitionBytes,
    0,
    originRows,
    alreadyBroadcast,
    keys,
    unmeasuredColumns,
    source,
    exchanges
  )

  val shared: Gen[PathStep.Shared] =
    Gen.zip(count, count, Gen.frequency(1 -> Gen.const(0.0), 5 -> Gen.choose(0.0, 1.0))).map { case (rows, scanBytes, share) =>
      PathStep.Shared(rows, scanBytes, share)
    }

  val pathStep: Gen[PathStep] = Gen.oneOf(
    Gen.zip(count, count).map { case (rows, rowBytes) => PathStep.Shuffle(rows, rowBytes) },
    Gen.zip(count, small).map { case (rows, partitions) => PathStep.Sort(rows, partitions) },
    count.map(PathStep.Merge(_)),
    Gen.zip(count, count, count, Gen.prob(0.5)).map { case (rows, tableRows, tableRowBytes, byRow) =>
      PathStep.Lookup(rows, tableRows, tableRowBytes, byRow)
    },
    Gen.zip(count, count, count).map { case (rows, rowBytes, probeRows) => PathStep.Broadcast(rows, rowBytes, probeRows) },
    count.map(PathStep.Group(_)),
    Gen.zip(count, count, count, count).map { case (rows, keys, probeRows, rowBytes) =>
      PathStep.FilterSource(rows, keys, probeRows, rowBytes)
    },
    shared
  )

  val probeFacts: Gen[ProbeFacts] = for {
    rows <- count
    scanRows <- count
    rowBytes <- Gen.frequency(5 -> Gen.choose(1L, 1000L), 1 -> count)
    exchanges <- Gen.frequency(8 -> Gen.choose(0, 5), 1 -> small)
    started <- Gen.prob(0.1)
    targets <- Gen.choose(-1, 3)
    keys <- Gen.option(keyFacts)
    sources <- Gen.listOfN(2, Gen.option(Gen.oneOf(EstimateSource.All)))
    prunableBytes <- Gen.frequency(3 -> Gen.const(0L), 1 -> count)
    otherUses <- Gen.frequency(5 -> Gen.const(0.0), 1 -> Gen.choose(0.0, 1.5))
    path <- Gen.resize(4, Gen.listOf(pathStep))
    rowsBefore <- Gen.frequency(3 -> Gen.const(None), 1 -> Gen.some(count))
    beforeExchange <- Gen.prob(0.2)
    sample <- Gen.option(sampledKeys)
    keyless <- Gen.option(Gen.zip(count, Gen.choose(-0.5, 1.5)).map { case (bytes, share) => KeylessFiles(bytes, share, bytes >> 20) })
  } yield ProbeFacts(
    rows,
    scanRows,
    rowBytes,
    exchanges,
    started,
    targets,
    keys,
    sources.head,
    sources.last,
    prunableBytes,
    prunableBytes >> 20,
    otherUses,
    path,
    rowsBefore,
    beforeExchange,
    sample,
    keyless
  )

  val sampledKeys: Gen[SampledKeys] = for {
    rows <- Gen.choose(0L, 10000L)
    matches <- Gen.choose(0L, rows)
    independent <- Gen.choose(1.0, math.max(1.0, rows.toDouble))
  } yield SampledKeys(rows, matches, independent)

  val waitDecision: Gen[WaitDecision] = for {
    waits <- Gen.prob(0.5)
    code <- Gen.oneOf(ReasonCode.WaitPays, ReasonCode.NotWorthWaiting, ReasonCode.TooFewRows)
    millis <- Gen.choose(0.0, 1e6)
    outcome <- Gen.option(Gen.oneOf(WaitEnd.All).map(WaitOutcome(_, millis)))
  } yield WaitDecision(waits, Reason(code, Some(millis), Some(millis / 2), "millis"), millis, millis / 2, millis / 3, outcome)

  val joinFacts: Gen[JoinFacts] = for {
    kind <- Gen.oneOf(JoinKind.All)
    buildSide <- Gen.oneOf(Side.Left, Side.Right)
    build <- buildFacts
    probe <- probeFacts
    slots <- small
    executors <- small
    hint <- Gen.frequency(5 -> Gen.const(None), 1 -> Gen.some(Gen.oneOf("broadcast", "merge")))
    sparkStrategy <- Gen.oneOf(Strategy.All)
    canBroadcast <- Gen.prob(0.7)
    obstacle <- Gen.frequency(5 -> Gen.const(None), 1 -> Gen.some(Gen.oneOf(ReasonCode.All)))
    waiting <- Gen.option(waitDecision)
    taskBytes <- Gen.option(Gen.choose(0L, 1L << 31))
    hashedBytes <- Gen.frequency(3 -> Gen.const(0L), 1 -> Gen.choose(0L, 1L << 31))
    pageBytes <- Gen.oneOf(0L, 1L << 20, 1L << 26)
    memory <- Gen.option(Gen.choose(0L, 1L << 33).map(held => MemoryFacts(1L << 32, held, taskBytes, hashedBytes, pageBytes)))
    orderUsed <- Gen.prob(0.2)
    written <- Gen.prob(0.2)
  } yield JoinFacts(
    "join",
    kind,
    Seq("k"),
    buildSide,
    build,
    probe,
    ClusterFacts(slots, executors),
    hint,
    sparkStrategy,
    canBroadcast,
    obstacle,
    waiting,
    memory,
    orderUsed,
    written
  )

  val thresholds: Gen[Thresholds] = for {
    openGates <- Gen.prob(0.3)
    tieRatio <- Gen.oneOf(0.0, 0.05, 0.5, 1.0)
    maxPassRate <- Gen.choose(0.0, 1.0)
    minProbeRows <- count.map(math.max(0L, _)).map(math.min(1000000000000L, _))
    maxMemoryBytes <- count.map(math.max(0L, _)).map(math.min(8L << 30, _))
    falsePositiveRate <- Gen.choose(0.0001, 0.5)
    coefficient <- Gen.oneOf(0.0, 1.0, 50.0, 1e6)
  } yield Thresholds.Default
    .updated(AqeConf.FilterMaxPassRate, maxPassRate)
    .updated(AqeConf.FilterMinProbeRows, minProbeRows)
    .updated(AqeConf.FilterFalsePositiveRate, falsePositiveRate)
    .updated(AqeConf.BroadcastMaxMemoryBytes, maxMemoryBytes)
    .updated(AqeConf.CostTieRatio, tieRatio)
    .updated(AqeConf.CostShuffleNanosPerByte, coefficient)
    .updated(AqeConf.CostFilterCheckNanosPerRow, coefficient)
    .updated(AqeConf.CostRowPipelineNanosPerRow, coefficient)
    .updated(AqeConf.TestOpenGates, openGates)

  val waitFacts: Gen[WaitFacts] = for {
    join <- joinFacts
    scanBytes <- count
    tasks <- small
    partitions <- small
    others <- small
  } yield WaitFacts(join, scanBytes, tasks, partitions, others)
}
