package io.aqeplugin.conf

/** Every conf key of the plugin: the one place where a key, its default and its range are written.
  *
  * [[PerSession]] are session confs, read once a query, when it is planned first; `docs/configuration.md` and the table that the Python half reads are
  * generated from [[All]] by [[ConfDocs]].
  */
object AqeConf {
  val Prefix = "spark.aqePlugin."

  // Filled by `define`, in the order of this file.
  private val defined = Seq.newBuilder[ConfEntry[_]]

  val ModeKey: ConfEntry[Mode] = define(ConfEntry(
    Prefix + "mode",
    "How far the plugin goes: " + Mode.All.map(m => s"`${m.name}`: ${m.meaning}").mkString("; ") + ".",
    "",
    Mode.Apply,
    ConfSyntax.ModeName,
    Allowed.oneOf(Mode.All, ConfSyntax.ModeName)
  ))

  // What a filter may be, and when it is worth one.

  val FilterFalsePositiveRate: ConfEntry[Double] =
    number(
      "filter.falsePositiveRate",
      "ratio",
      0.01,
      0.0001,
      0.5,
      "Share of keys that a Bloom filter may let through by mistake; smaller means more bytes."
    )
  val FilterMaxBytes: ConfEntry[Long] =
    bytes(
      "filter.maxBytes",
      64L << 20,
      1L << 10,
      1L << 30,
      "Largest size of one filter, on the driver and on each executor; a larger one is not built."
    )
  val FilterExactMaxKeys: ConfEntry[Long] =
    whole(
      "filter.exactMaxKeys",
      "keys",
      10000,
      0,
      10000000,
      "Up to this many distinct keys the filter is an exact set, above it a Bloom filter."
    )
  val FilterInListMaxKeys: ConfEntry[Long] =
    whole("filter.inListMaxKeys", "keys", 50, 0, 10000, "Up to this many distinct keys they are also pushed into the scan as an IN list.")
  val FilterBuildTimeout: ConfEntry[Long] =
    whole(
      "filter.buildTimeout",
      "millis",
      30000,
      1,
      3600000,
      "Longest wait for a filter to be built once its build side is done; after that every row passes."
    )
  val FilterMaxPassRate: ConfEntry[Double] =
    number("filter.maxPassRate", "ratio", 0.7, 0.0, 1.0, "No filter is built when a larger share of the probe rows is expected to pass it.")
  val FilterMaxPerScan: ConfEntry[Long] =
    whole("filter.maxPerScan", "filters", 4, 1, 64, "Most filters on one scan; those expected to let the fewest rows pass are kept.")
  val FilterMinProbeRows: ConfEntry[Long] =
    whole(
      "filter.minProbeRows",
      "rows",
      20000,
      0,
      1000000000000L,
      "No filter is built when the scans it could check are expected to produce fewer rows."
    )
  val FilterCompositeFactor: ConfEntry[Double] = number(
    "filter.compositeFactor",
    "ratio",
    2.0,
    1.0,
    1000.0,
    "A key of several columns is expected to be nearly unique on the build side: the pass rate is then at most build rows / probe rows times this factor."
  )

  // A filter that turns out not to filter is put to rest by the task that checks it.

  val SelfDisableSampleBatches: ConfEntry[Long] =
    whole(
      "filter.selfDisable.sampleBatches",
      "batches",
      4,
      1,
      1000000,
      "Batches that a task checks before it judges whether a filter removes enough rows."
    )
  val SelfDisableMaxPassRate: ConfEntry[Double] =
    number(
      "filter.selfDisable.maxPassRate",
      "ratio",
      0.98,
      0.0,
      1.0,
      "A task stops checking a filter when a larger share of the sampled rows passed it; 1 never stops."
    )
  val SelfDisableSkipBatches: ConfEntry[Long] =
    whole(
      "filter.selfDisable.skipBatches",
      "batches",
      16,
      1,
      1000000,
      "Batches that a task then lets pass unchecked before it samples again."
    )

  // What may be broadcast.

  val BroadcastMaxMemoryBytes: ConfEntry[Long] = bytes(
    "broadcast.maxMemoryBytes",
    128L << 20,
    0,
    8L << 30,
    "Largest build side, in memory and with its hash table, that is broadcast. The driver and every executor hold it, during the hand-over twice; " +
      "128m leaves three quarters of Spark's default 1g heaps to the query. Never more than spark.driver.maxResultSize and " +
      "spark.sql.maxBroadcastTableSize allow, which fail a query that goes beyond them."
  )
  val BroadcastMaxRows: ConfEntry[Long] =
    whole(
      "broadcast.maxRows",
      "rows",
      5000000,
      0,
      512000000,
      "Most rows that are broadcast, whatever memory they take: one driver thread hashes them all."
    )
  val BroadcastHashBytesPerRow: ConfEntry[Long] =
    whole("broadcast.hashBytesPerRow", "bytes", 48, 0, 10000, "What the hash table of a broadcast relation adds to each row in memory.")

  // When a probe side is held back until its build side is done.

  val WaitSavingShare: ConfEntry[Double] =
    number(
      "wait.savingShare",
      "ratio",
      0.5,
      0.0,
      1.0,
      "Share of the expected saving that is believed when a wait is weighed: the build side has not run yet."
    )
  val WaitKeptPerPredicate: ConfEntry[Double] = number(
    "wait.keptPerPredicate",
    "ratio",
    0.2,
    0.0,
    1.0,
    "Share of the build side's rows that each of its predicates is expected to keep when there are no statistics."
  )
  val WaitMaxIdle: ConfEntry[Long] =
    whole("wait.maxIdle", "millis", 60000, 0, 3600000, "No wait is begun when it is expected to leave the slots idle for longer.")

  // The cost formula; every coefficient is per task thread unless it says otherwise.

  val CostShuffleNanosPerByte: ConfEntry[Double] =
    nanos("cost.shuffleNanosPerByte", 6.0, "nanos/byte", "Writing and reading one byte of a row through a shuffle.")
  val CostShuffleNanosPerRow: ConfEntry[Double] =
    nanos("cost.shuffleNanosPerRow", 250.0, "nanos/row", "Writing and reading one row through a shuffle, besides its bytes.")
  val CostSortNanosPerComparison: ConfEntry[Double] =
    nanos("cost.sortNanosPerComparison", 18.0, "nanos", "One step of a sort; a partition of n rows takes n * log2(n) steps.")
  val CostMergeNanosPerRow: ConfEntry[Double] =
    nanos("cost.mergeNanosPerRow", 40.0, "nanos/row", "Moving one sorted row through a sort-merge join.")
  val CostHashBuildNanosPerRow: ConfEntry[Double] =
    nanos("cost.hashBuildNanosPerRow", 80.0, "nanos/row", "Putting one row into a broadcast relation; done by one thread of the driver.")
  val CostHashProbeNanosPerRow: ConfEntry[Double] =
    nanos("cost.hashProbeNanosPerRow", 30.0, "nanos/row", "Looking one probe row up in a broadcast relation.")
  val CostCollectNanosPerByte: ConfEntry[Double] =
    nanos("cost.collectNanosPerByte", 6.0, "nanos/byte", "Collecting and serialising one byte of a broadcast relation; done by the driver.")
  val CostBroadcastNanosPerByte: ConfEntry[Double] =
    nanos("cost.broadcastNanosPerByte", 1.0, "nanos/byte", "Handing one byte of a broadcast to one executor; paid once per executor.")
  val CostFilterBuildNanosPerRow: ConfEntry[Double] =
    nanos("cost.filterBuildNanosPerRow", 60.0, "nanos/row", "Reading one build row back from its shuffle and adding its key to a filter.")
  val CostFilterCheckNanosPerRow: ConfEntry[Double] =
    nanos("cost.filterCheckNanosPerRow", 8.0, "nanos/row", "Checking the first key column of one probe row against a filter.")
  val CostFilterHashNanosPerColumn: ConfEntry[Double] =
    nanos("cost.filterHashNanosPerColumn", 4.0, "nanos", "Hashing each further key column of one probe row.")
  val CostRowPipelineNanosPerRow: ConfEntry[Double] = nanos(
    "cost.rowPipelineNanosPerRow",
    45.0,
    "nanos/row",
    "What a row costs between its scan and its join apart from shuffles: columns to rows, projections, Spark's own predicates."
  )
  val CostScanNanosPerByte: ConfEntry[Double] =
    nanos("cost.scanNanosPerByte", 5.0, "nanos/byte", "Reading, decompressing and decoding one byte of a file.")
  val CostJobLaunchNanos: ConfEntry[Double] =
    number("cost.jobLaunchNanos", "nanos", 25e6, 0.0, 1e12, "Time from asking for a job or stage until its first task runs, and back.")
  val CostTieRatio: ConfEntry[Double] = number(
    "cost.tieRatio",
    "ratio",
    0.05,
    0.0,
    1.0,
    "Two options count as equally cheap when their prices differ by no more than this share of the dearer one; a tie keeps what Spark would do."
  )

  // What `aqe_decisions()` shows.

  val DecisionsKeptQueries: ConfEntry[Long] =
    whole(
      "decisions.keptQueries",
      "queries",
      100,
      0,
      10000,
      "Queries whose decisions `aqe_decisions()` shows, those that run included; the oldest that has ended is forgotten first, and 0 keeps none.",
      atStart = true
    )
  val DecisionsKeptPerQuery: ConfEntry[Long] =
    whole(
      "decisions.keptPerQuery",
      "decisions",
      100,
      1,
      10000,
      "Decisions of one query that `aqe_decisions()` shows, the first ones; further ones are only counted.",
      atStart = true
    )

  // What a share of the applications tries.

  val CanaryShare: ConfEntry[Double] = number(
    "canary.share",
    "ratio",
    0.0,
    0.0,
    1.0,
    "Share of the applications that try the values of `spark.aqePlugin.canary.set.*`, see below; 0 tries nothing.",
    atStart = true
  )

  val TestOpenGates: ConfEntry[Boolean] = define(ConfEntry(
    Prefix + "test.openGates",
    "Internal, for tests: every filter that is legal is built and every legal wait is made, whether or not it pays. Size caps stay.",
    "",
    default = false,
    ConfSyntax.Bool,
    Allowed.oneOf(Seq(true, false), ConfSyntax.Bool),
    internal = true
  ))

  /** Every key, in the order of the documentation. */
  val All: Seq[ConfEntry[_]] = defined.result()

  /** The keys that each session has a value of its own for; the others are read when the application starts. */
  val PerSession: Seq[ConfEntry[_]] = All.filter(_.perSession)

  /** The keys that decisions, and what follows from them, are held against. */
  val ThresholdKeys: Seq[ConfEntry[_]] = PerSession.filterNot(_ == ModeKey)

  /** Reads every key but those of a canary, whose faults are no query's, and reports the first bad value in the order of [[All]].
    *
    * @param get
    *   the text a session has for a key, if it has one
    */
  def read(get: String => Option[String]): Either[ConfError, Settings] = {
    val parsed = All.filterNot(_ == CanaryShare).map { entry =>
      get(entry.key).fold[Either[ConfError, Any]](Right(entry.default))(entry.parse).map(entry.key -> _)
    }
    parsed.collectFirst { case Left(error) => error }.toLeft(Settings(parsed.collect { case Right(pair) => pair }.toMap))
  }

  private def number(
      name: String,
      unit: String,
      default: Double,
      low: Double,
      high: Double,
      doc: String,
      atStart: Boolean = false
  ): ConfEntry[Double] =
    entry(
      name,
      unit,
      default,
      ConfSyntax.Number,
      Allowed.between(low, high, ConfSyntax.Number)(Ordering.Double.TotalOrdering),
      doc,
      atStart
    )

  private def nanos(name: String, default: Double, unit: String, doc: String): ConfEntry[Double] =
    number(name, unit, default, 0.0, 1e6, doc)

  private def whole(
      name: String,
      unit: String,
      default: Long,
      low: Long,
      high: Long,
      doc: String,
      atStart: Boolean = false
  ): ConfEntry[Long] =
    entry(name, unit, default, ConfSyntax.Whole, Allowed.between(low, high, ConfSyntax.Whole), doc, atStart)

  private def bytes(name: String, default: Long, low: Long, high: Long, doc: String): ConfEntry[Long] =
    entry(name, "bytes", default, ConfSyntax.Bytes, Allowed.between(low, high, ConfSyntax.Bytes), doc, atStart = false)

  /** @param atStart
    *   it is about the whole application, so no session may move it
    */
  private def entry[A](
      name: String,
      unit: String,
      default: A,
      syntax: ConfSyntax[A],
      allowed: Allowed[A],
      doc: String,
      atStart: Boolean
  ): ConfEntry[A] = {
    val whenRead = if (atStart) " Read once, when the application starts." else ""
    define(ConfEntry(Prefix + name, doc + whenRead, unit, default, syntax, allowed, perSession = !atStart))
  }

  private def define[A](entry: ConfEntry[A]): ConfEntry[A] = {
    defined += entry
    entry
  }
}
