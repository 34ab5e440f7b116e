package io.aqeplugin.conf

/** Every conf key of the plugin, with its default and its range. Nothing else defines a key.
  *
  * A query reads the keys of [[PerSession]] from its session conf once, when it is first planned. `make docs` generates
  * `docs/reference/configuration.md` and the table that the Python half reads from [[All]].
  */
object AqeConf {
  val Prefix = "spark.aqePlugin."

  // Filled by `define`, in the order of this file.
  private val defined = Seq.newBuilder[ConfEntry[_]]

  val ModeKey: ConfEntry[Mode] = mode("mode")(
    "How far the plugin goes: " + Mode.All.map(m => s"`${m.name}`: ${m.meaning}").mkString("; ") + "."
  )

  val PredicatesMode: ConfEntry[Mode] = mode("predicates.mode")(
    "How far predicates on one side of a join are inferred for the other: `off`: none is; `observe`: they are recorded, but scans stay unchanged; " +
      "`apply`: scans have them. It goes no further than `spark.aqePlugin.mode`."
  )

  // What a filter may be, and when it is worth one.

  val FilterFalsePositiveRate: ConfEntry[Double] = number("filter.falsePositiveRate", "ratio", 0.01, 0.0001, 0.5)(
    "False-positive rate that a Bloom filter is sized for; a smaller rate takes more bytes."
  )
  val FilterMaxBytes: ConfEntry[Long] = bytes("filter.maxBytes", 64L << 20, 1L << 10, 1L << 30)(
    "Largest size of one filter, on the driver and on each executor; a larger filter is not built."
  )
  val FilterExactMaxKeys: ConfEntry[Long] = whole("filter.exactMaxKeys", "keys", 10000, 0, 10000000)(
    "A filter of at most this many distinct keys is an exact set; a larger one is a Bloom filter."
  )
  val FilterInListMaxKeys: ConfEntry[Long] = whole("filter.inListMaxKeys", "keys", 500, 0, 10000)(
    "At most this many distinct keys are also pushed into the scan as an IN list, which plans and event logs show; more than 50 not where footers tell that this leaves out no row group."
  )
  val FilterBuildTimeout: ConfEntry[Long] = whole("filter.buildTimeout", "millis", 30000, 1, 3600000)(
    "Longest wait for a filter once its build side has finished; after that, every row passes."
  )
  val FilterSlotTimeout: ConfEntry[Long] = whole("filter.slotTimeout", "millis", 5000, 1, 3600000)(
    "Longest wait for the first task of the job that builds a filter, if that is less than filter.buildTimeout; after that, every row passes. Spark itself keeps a task for spark.locality.wait, 3 s by default, for a node with its data."
  )
  val SketchMaxKeys: ConfEntry[Long] = whole("sketch.maxKeys", "keys", 100000, 0, 10000000)(
    "A build side keeps up to this many distinct keys while it runs, and its filter is made of them without a further job; of more keys, it keeps statistics. A task keeps at most 8 million keys divided by the number of tasks, and no more than a sixteenth of spark.driver.maxResultSize holds, but 256 in any case; a build side that is broadcast keeps at most 16,384. With 0, keys are read only to build a filter."
  )
  val SampleMinRows: ConfEntry[Long] = whole("sample.minRows", "rows", 4000000, 0, Long.MaxValue)(
    "Of a scan with at least this many estimated rows, a few thousand are read before it runs, to know what share of them passes a filter. They are kept for the queries that follow."
  )
  val FilterMaxPassRate: ConfEntry[Double] = number("filter.maxPassRate", "ratio", 0.7, 0.0, 1.0)(
    "No filter is built when its estimated pass rate is higher."
  )
  val FilterMaxPerScan: ConfEntry[Long] = whole("filter.maxPerScan", "filters", 4, 1, 64)(
    "Maximum number of filters on one scan; those with the lowest estimated pass rates are kept."
  )
  val FilterMinProbeRows: ConfEntry[Long] = whole("filter.minProbeRows", "rows", 20000, 0, 1000000000000L)(
    "No filter is built when the scans that it would check are estimated to produce fewer rows, unless it may leave out files that take longer to open than a job to launch."
  )
  val FilterCompositeFactor: ConfEntry[Double] = number("filter.compositeFactor", "ratio", 2.0, 1.0, 1000.0)(
    "A key of several columns is assumed to be nearly unique on the build side: its pass rate is at most distinct build keys / probe rows times this factor."
  )

  // A task stops checking a filter that removes too few rows.

  val SelfDisableSampleBatches: ConfEntry[Long] = whole("filter.selfDisable.sampleBatches", "batches", 4, 1, 1000000)(
    "Number of batches that a task checks before it decides whether the filter removes enough rows."
  )
  val SelfDisableMaxPassRate: ConfEntry[Double] = number("filter.selfDisable.maxPassRate", "ratio", 0.98, 0.0, 1.0)(
    "A task stops checking a filter when a larger share of the sampled rows passes; 1 means that it never stops."
  )
  val SelfDisableSkipBatches: ConfEntry[Long] = whole("filter.selfDisable.skipBatches", "batches", 16, 1, 1000000)(
    "Number of batches that the task then passes unchecked before it samples again."
  )

  // What may be broadcast.

  val BroadcastMaxMemoryBytes: ConfEntry[Long] = bytes("broadcast.maxMemoryBytes", 128L << 20, 0, 8L << 30)(
    "Largest build side that is broadcast, measured in memory with its hash table. The driver and every executor hold it, twice while it is being sent; " +
      "128m leaves three quarters of Spark's default 1g heaps to the query. The limit is never above what spark.driver.maxResultSize and " +
      "spark.sql.maxBroadcastTableSize allow, because Spark fails a query that exceeds them."
  )
  val BroadcastMaxRows: ConfEntry[Long] = whole("broadcast.maxRows", "rows", 5000000, 0, 512000000)(
    "Largest number of rows that is broadcast, whatever memory they take: one driver thread hashes all of them."
  )
  val BroadcastHashBytesPerRow: ConfEntry[Long] = whole("broadcast.hashBytesPerRow", "bytes", 48, 0, 10000)(
    "Memory that the hash table of a broadcast relation adds to each row."
  )

  val ShuffledHashMaxShare: ConfEntry[Double] = number("shuffledHash.maxShare", "ratio", 0.5, 0.0, 1.0)(
    "Share of the memory that a task is sure to get of its executor's execution memory, and that all build sides of a query that are hashed partition " +
      "by partition may take together, each whole and with its hash table; 0 switches such joins off."
  )

  val MemoryMaxShare: ConfEntry[Double] = number("memory.maxShare", "ratio", 0.2, 0.0, 1.0)(
    "Share of the driver's heap, or of an executor's if that is smaller, that the filters and the broadcasts that Spark would not make may take, " +
      "over all running queries of the application."
  )

  // Whether a probe side waits until its build side has finished.

  val WaitSavingShare: ConfEntry[Double] = number("wait.savingShare", "ratio", 0.5, 0.0, 1.0)(
    "Share of the estimated saving that counts when a wait is priced, because the build side has not run yet."
  )
  val WaitKeptPerPredicate: ConfEntry[Double] = number("wait.keptPerPredicate", "ratio", 0.2, 0.0, 1.0)(
    "Share of the rows that the predicates of a filter operator, or the partition filters of a scan, are assumed to keep if nothing is known of them, however many there are."
  )
  val WaitMaxIdle: ConfEntry[Long] = whole("wait.maxIdle", "millis", 60000, 0, 3600000)(
    "The probe side does not wait when the wait is estimated to leave the slots idle for longer."
  )
  val WaitCheckAfter: ConfEntry[Long] = whole("wait.checkAfter", "millis", 1000, 10, 3600000)(
    "The shortest time after which a wait is checked; half of it together with the check of another wait. A wait ends when two checks find that the idle slots to come cost more than its saving is worth."
  )
  val WaitLimit: ConfEntry[Long] = whole("wait.limit", "millis", 1800000, 0, 86400000)(
    "The longest time that a probe side waits for its build side; then it starts without a filter. A wait that is forced has no limit, and neither has one for a scan that waits for a broadcast anyway."
  )

  // The cost formula; every coefficient is per task thread unless it says otherwise.

  val CostShuffleNanosPerByte: ConfEntry[Double] = nanos("cost.shuffleNanosPerByte", 3.0, "nanos/byte")(
    "Writing and reading one byte of a row through a shuffle; a tenth of it for reading one back for a filter."
  )
  val CostShuffleNanosPerRow: ConfEntry[Double] = nanos("cost.shuffleNanosPerRow", 200.0, "nanos/row")(
    "Writing and reading one row through a shuffle, in addition to its bytes."
  )
  val CostSortNanosPerComparison: ConfEntry[Double] = nanos("cost.sortNanosPerComparison", 25.0, "nanos")(
    "One step of a sort; a partition of n rows takes n * log2(n) steps, by one number at most 3 n."
  )
  val CostMergeNanosPerRow: ConfEntry[Double] = nanos("cost.mergeNanosPerRow", 40.0, "nanos/row")(
    "Moving one sorted row through a sort-merge join."
  )
  val CostHashBuildNanosPerRow: ConfEntry[Double] = nanos("cost.hashBuildNanosPerRow", 80.0, "nanos/row")(
    "Putting one row into a hash table; of a broadcast relation, one thread of the driver does it."
  )
  val CostHashProbeNanosPerRow: ConfEntry[Double] = nanos("cost.hashProbeNanosPerRow", 15.0, "nanos/row")(
    "Looking one probe row up in a hash table."
  )
  val CostHashMissNanosPerRow: ConfEntry[Double] = nanos("cost.hashMissNanosPerRow", 300.0, "nanos/row")(
    "Waiting for memory, for one row that is put into the hash table of a shuffled hash join or found there, if the table is much larger than the cache."
  )
  val CostCollectNanosPerByte: ConfEntry[Double] = nanos("cost.collectNanosPerByte", 6.0, "nanos/byte")(
    "Collecting and serializing one byte of a broadcast relation; done by the driver."
  )
  val CostBroadcastNanosPerByte: ConfEntry[Double] = nanos("cost.broadcastNanosPerByte", 1.0, "nanos/byte")(
    "Sending one byte of a broadcast to one executor; paid once per executor."
  )
  val CostFilterBuildNanosPerRow: ConfEntry[Double] = nanos("cost.filterBuildNanosPerRow", 60.0, "nanos/row")(
    "Reading one build row back from its shuffle and adding its key to a filter, in addition to its bytes."
  )
  val CostFilterCheckNanosPerRow: ConfEntry[Double] = nanos("cost.filterCheckNanosPerRow", 8.0, "nanos/row")(
    "Checking the first key column of one probe row against a filter."
  )
  val CostFilterHashNanosPerColumn: ConfEntry[Double] = nanos("cost.filterHashNanosPerColumn", 4.0, "nanos")(
    "Hashing one key column of one probe row: each after the first, and the first if filters hash its type."
  )
  val CostFilterMissNanosPerRow: ConfEntry[Double] = nanos("cost.filterMissNanosPerRow", 25.0, "nanos/row")(
    "Waiting for memory, for one probe row, if the filter is much larger than the cache of a core."
  )
  val CostRowPipelineNanosPerRow: ConfEntry[Double] = nanos("cost.rowPipelineNanosPerRow", 8.0, "nanos/row")(
    "Work on one row between its scan and its join, without shuffles: columns to rows, projections, Spark's own predicates."
  )
  val CostScanNanosPerByte: ConfEntry[Double] = nanos("cost.scanNanosPerByte", 5.0, "nanos/byte")(
    "Reading, decompressing and decoding one byte of a file."
  )
  val CostFileOpenNanos: ConfEntry[Double] = number("cost.fileOpenNanos", "nanos", 5e6, 0.0, 1e12)(
    "Time that a task takes to open one file and to close it, whatever it reads of it: footers, readers, a request to the store."
  )
  val CostJobLaunchNanos: ConfEntry[Double] = number("cost.jobLaunchNanos", "nanos", 25e6, 0.0, 1e12)(
    "Time to launch a job or stage and to return its result. A method in place of a broadcast of Spark's must save more."
  )
  val CostLookNanosPerJoin: ConfEntry[Double] = number("cost.lookNanosPerJoin", "nanos", 8e6, 0.0, 1e9)(
    "Time to look at one join while its query is planned, all plans together. Where all joins of a plan can save less than that and a launch, by the bytes and rows that it reads, none is looked at; with 0, all are."
  )
  val CostEngineRatio: ConfEntry[Double] = number("cost.engineRatio", "ratio", 0.4, 0.01, 1.0)(
    "Time that the operators of an engine such as Apache DataFusion Comet take for scans, shuffles, sorts and joins, as a share of the time of Spark's."
  )
  val CostEngineFilterRatio: ConfEntry[Double] = number("cost.engineFilterRatio", "ratio", 2.5, 0.1, 100.0)(
    "Time that building and checking a filter takes where an engine such as Apache DataFusion Comet checks it, as a ratio of the plugin's own time."
  )
  val CostTieRatio: ConfEntry[Double] = number("cost.tieRatio", "ratio", 0.05, 0.0, 1.0)(
    "Two options are tied when their prices differ by at most this share of the higher price; a tie keeps Spark's own plan."
  )

  // What a limit reads.

  val LimitMode: ConfEntry[Mode] = mode("limit.mode")(
    "How far limits read fewer files: `off`: they are Spark's alone; `observe`: which files would do is recorded, but plans stay unchanged; " +
      "`apply`: only these are read. It goes no further than `spark.aqePlugin.mode`."
  )
  val LimitMaxFooters: ConfEntry[Long] = whole("limit.maxFooters", "files", 4096, 0, 1000000)(
    "Number of footers that the driver reads at most for one `LIMIT`, to choose the files that are read; 0 reads none."
  )
  val LimitFooterTimeout: ConfEntry[Long] = whole("limit.footerTimeout", "millis", 1000, 0, 3600000)(
    "Longest time that the planning of a query, or of one of its stages, waits for footers; the choices of its limits are then made from those that were read."
  )
  val LimitFirstSplits: ConfEntry[Long] = whole("limit.firstSplits", "splits", 2, 1, 1000000)(
    "Number of splits that a `LIMIT` with a filter reads first, when no statistic says how many rows match."
  )
  val LimitGrowth: ConfEntry[Double] = number("limit.growth", "ratio", 4.0, 1.0, 1000.0)(
    "Such a limit reads at most this many times as many splits at once as it has finished."
  )
  val LimitMaxSplits: ConfEntry[Long] = whole("limit.maxSplits", "splits", 0, 0, 1000000)(
    "Number of splits of such a limit that run or are queued at most; 0 means sixteen times the number of tasks that can run at once, and more when the splits are small."
  )

  // What `aqe_decisions()` shows.

  val DecisionsKeptQueries: ConfEntry[Long] = whole("decisions.keptQueries", "queries", 100, 0, 10000, atStart = true)(
    "Number of queries, running ones included, whose decisions `aqe_decisions()` shows; the oldest finished query is dropped first, and 0 keeps none."
  )
  val DecisionsKeptPerQuery: ConfEntry[Long] = whole("decisions.keptPerQuery", "decisions", 100, 1, 10000, atStart = true)(
    "Number of decisions of one query that `aqe_decisions()` shows; later ones are only counted."
  )

  // Values that a share of the applications tries.

  val CanaryShare: ConfEntry[Double] = number("canary.share", "ratio", 0.0, 0.0, 1.0, atStart = true)(
    "Share of the applications that try the values of `spark.aqePlugin.canary.set.*`, see below; at 0, none does."
  )

  // What tests and measurements decide in place of the model.

  val Force: ConfEntry[Forced] = define(ConfEntry(
    Prefix + "force",
    "Options that joins are forced to, by the id of the join, to test or to measure what another option would have done: " +
      "`inner:ss_item_sk=i_item_sk=broadcast+filter; *=plain_sort_merge`. An option that a join does not allow is not taken, and the decision has the reason.",
    "",
    Forced.None,
    Forced.Syntax,
    Forced.Allowed,
    problem = Forced.problem
  ))

  val TestOpenGates: ConfEntry[Boolean] = define(ConfEntry(
    Prefix + "test.openGates",
    "Internal, for tests: every legal filter is built and every legal wait is made, whether or not it pays. Size limits still apply.",
    "",
    default = false,
    ConfSyntax.Bool,
    Allowed.oneOf(Seq(true, false), ConfSyntax.Bool),
    internal = true
  ))

  /** Every key, in the order of the documentation. */
  val All: Seq[ConfEntry[_]] = defined.result()

  /** The keys that have a value per session; the others are read when the application starts. */
  val PerSession: Seq[ConfEntry[_]] = All.filter(_.perSession)

  /** The keys whose values decisions compare with. */
  val ThresholdKeys: Seq[ConfEntry[_]] = PerSession.filterNot(Set[ConfEntry[_]](ModeKey, PredicatesMode, LimitMode, Force))

  /** Reads every key and reports the first bad value in the order of [[All]]. Keys of a canary are left out: a bad one must not fail a
    * query.
    *
    * @param get
    *   the session's text for a key, if it has one
    */
  def read(get: String => Option[String]): Either[ConfError, Settings] = {
    def one[A](known: Settings, entry: ConfEntry[A]): Either[ConfError, Settings] =
      get(entry.key).fold[Either[ConfError, Settings]](Right(known))(entry.parse(_).map(known.updated(entry, _)))
    All.filterNot(_ == CanaryShare).foldLeft[Either[ConfError, Settings]](Right(Settings.Default))((read, entry) =>
      read.flatMap(one(_, entry))
    )
  }

  private def number(name: String, unit: String, default: Double, low: Double, high: Double, atStart: Boolean = false)(doc: String) = {
    val allowed = Allowed.between(low, high, ConfSyntax.Number)(Ordering.Double.TotalOrdering)
    entry(name, unit, default, ConfSyntax.Number, allowed, atStart)(doc)
  }

  private def whole(name: String, unit: String, default: Long, low: Long, high: Long, atStart: Boolean = false)(doc: String) =
    entry(name, unit, default, ConfSyntax.Whole, Allowed.between(low, high, ConfSyntax.Whole), atStart)(doc)

  private def bytes(name: String, default: Long, low: Long, high: Long)(doc: String) =
    entry(name, "bytes", default, ConfSyntax.Bytes, Allowed.between(low, high, ConfSyntax.Bytes))(doc)

  private def nanos(name: String, default: Double, unit: String)(doc: String) = number(name, unit, default, 0.0, 1e6)(doc)

  private def mode(name: String)(doc: String) =
    entry[Mode](name, "", Mode.Apply, ConfSyntax.ModeName, Allowed.oneOf(Mode.All, ConfSyntax.ModeName))(doc)

  /** @param atStart
    *   the key belongs to the whole application, so no session may change it
    */
  private def entry[A](name: String, unit: String, default: A, syntax: ConfSyntax[A], allowed: Allowed[A], atStart: Boolean = false)(
      doc: String
  ): ConfEntry[A] = {
    val whenRead = if (atStart) " Read once, when the application starts." else ""
    define(ConfEntry(Prefix + name, doc + whenRead, unit, default, syntax, allowed, perSession = !atStart))
  }

  private def define[A](entry: ConfEntry[A]): ConfEntry[A] = {
    defined += entry
    entry
  }
}
