package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf._

/** One term of a price. */
@Told(doc = "one part of a predicted cost")
final case class CostTerm(
    @Told(doc = "as in the formula of the price") name: String,
    @Told(doc = "elapsed time", unit = "nanos") nanos: Double
)

// format: off
/** The price of each option in nanoseconds of elapsed time, for the remaining work that differs between options.
  *
  * With `b` build rows of `m` bytes in memory, `s` rows out of the probe side's scans, of which `r` reach the join in rows of `w` bytes over `x`
  * shuffles, `y` of which are below another join or an aggregate, `v` bytes of partitions that a filter can leave out, `u` bytes of files
  * without a key, which are the share `f` of the scan (both 0 where unknown), `n` slots, `e` executors, pass rate `p` (1 without a filter), and
  * coefficients named as their conf keys below `spark.aqePlugin.cost.`:
  * {{{
  * scan              (v p + u) scanNanosPerByte / n                                  no u with a filter
  * open              (files of v p + files of u) fileOpenNanos / n                   likewise
  * pipeline          s p rowPipelineNanosPerRow / n                                  none for a filter in front of an exchange
  * shuffle           (x - y) r p (w shuffleNanosPerByte + shuffleNanosPerRow) / n
  * shuffle launch    x jobLaunchNanos                                                each shuffle is a stage of its own
  *
  * of each operator between the scans and the join ([[PathStep]]), into which i rows go
  * shuffle below     i p (its w shuffleNanosPerByte + shuffleNanosPerRow) / n
  * sort below        i p c(i p / its partitions) sortNanosPerComparison / n
  * merge below       i p mergeNanosPerRow / n
  * lookup below      i p (k hashProbeNanosPerRow + misses(its table's bytes, 16 MiB) hashMissNanosPerRow) / n
  * broadcast below   i p (hashBuildNanosPerRow + its w (collectNanosPerByte + broadcastNanosPerByte e))
  *                   + its probe rows misses(i p (its w + hashBytesPerRow), 16 MiB) hashMissNanosPerRow / n
  * group below       i p hashBuildNanosPerRow / n
  *
  * no filter only, if one is allowed, of each [[PathStep.FilterSource]]. A share above `filter.maxPassRate` counts as 1
  * other scans       its probe rows (min(1, i / its keys) - min(1, i p / its keys)) (rowPipelineNanosPerRow + its w shuffleNanosPerByte
  *                   + shuffleNanosPerRow) / n
  *
  * sort-merge and shuffled hash only
  * build shuffle     z (b (m shuffleNanosPerByte + shuffleNanosPerRow) / n + jobLaunchNanos)    z shuffles that the build side still needs
  *
  * sort-merge only
  * sort              (r p c(r p / partitions) / n + b c(b / partitions) h) sortNanosPerComparison
  * merge             (r p / n + b h) mergeNanosPerRow
  * spill             max(0, r p w - 2 t partitions) shuffleNanosPerByte / n
  *
  * shuffled hash only
  * hash build        b h hashBuildNanosPerRow
  * hash probe        r p k hashProbeNanosPerRow / n
  * hash misses       (b h + r q / n) misses(table bytes, 16 MiB) hashMissNanosPerRow    r p in place of r q for a key looked up as a row
  *
  * broadcast only; the first four are 0 when the build side is broadcast already
  * collect           b m collectNanosPerByte
  * hash build        b hashBuildNanosPerRow
  * hand over         b m broadcastNanosPerByte e
  * launch            jobLaunchNanos
  * hash probe        r p k hashProbeNanosPerRow / n
  * hash misses       r p misses(relation bytes, 16 MiB) hashMissNanosPerRow / n         for a key looked up as a row
  *
  * broadcast that is not Spark's own, of a [[PathStep.Shared]] of which the share g is spared. p' is p if the join would have a filter if it stayed,
  * else 1; once it has left, a filter of its own no longer reduces the shared shuffle
  * shuffle of others (1 - g) (r p' (w shuffleNanosPerByte + shuffleNanosPerRow) / n + jobLaunchNanos)
  * scan by itself    (1 - g) (its scan bytes scanNanosPerByte + its rows p' rowPipelineNanosPerRow) / n
  *
  * not sort-merge, and an operator above relies on the order
  * sort above        r p c(r p / partitions) sortNanosPerComparison / n
  * spill above       max(0, r p w - 2 t partitions) shuffleNanosPerByte / n
  *
  * filter only
  * filter build      b filterBuildNanosPerRow / n                                    one thread when it reads a broadcast relation; d instead
  *                                                                                   of b, and one thread, when the driver has the d keys
  * filter read       b m shuffleNanosPerByte / 10 n                                  neither of a broadcast relation nor of keys that the driver has
  * filter hand over  filter bytes (collectNanosPerByte + broadcastNanosPerByte e)
  * filter launch     jobLaunchNanos                                                  a stage of its own, after which AQE plans anew
  * filter check      s (1 - f) (filterCheckNanosPerRow + hashed columns filterHashNanosPerColumn) / n
  * filter misses     s (1 - f) misses(filter bytes, 2 MiB) filterMissNanosPerRow / n
  * }}}
  * A lookup of a number is one probe, k = 1. A key of several columns, or of one that is not an integer, is written as a row, hashed and
  * compared: k = 4. A filter check pays for the hash of one column whose codes are not its values, and of each column after the first.
  *
  * A sort of i rows in one partition takes c(i) = log2(i) comparisons of each row. By one number, Spark compares no rows: c(i) is at most 3.
  *
  * Of accesses at random, those to memory are misses(bytes, cache) = 1 - cache / bytes. The hash table of a slot is the share `h` of the build
  * side with its hash table, and the share `q` of the probe rows, the pass rate whether or not there is a filter, find their row in it. A
  * broadcast relation by a number has no such term: its keys are from everywhere and so lie densely, while those of one partition do not.
  *
  * A sort writes to disk and reads back what its task has no memory for, as a shuffle does. Of the execution memory, a task is sure of `t` and
  * gets twice as much while no more tasks run than there are slots. The build side, which is sorted beside it, is left out as the smaller one.
  *
  * A new broadcast saves the probe side's last shuffle, so its `x` is one less, unless an operator above relies on the partitioning. The
  * share `h` of the build rows that one slot reads is that of the largest partition, and at least 1 / n. Other bytes of the probe
  * side's scans and the work after the join cost the same in every option and are left out. Negative counts are taken as 0, so every term is finite and not negative.
  *
  * Where an engine carries the plan out, its operators and its filters have these prices times a ratio ([[Thresholds.of]]).
  */
// format: on
final class CostModel(facts: JoinFacts, passRate: Double, filter: FilterSize, limits: Thresholds) {
  private val thresholds = limits.of(facts.engine)
  private val slots = math.max(1, facts.cluster.slots).toDouble
  private val prices = new RowPrices(facts.cluster.executors, thresholds)
  private val heaviestShare =
    math.max(1 / slots, math.min(1.0, atLeastZero(facts.build.maxPartitionBytes) / math.max(1L, facts.build.stageBytes)))
  private val partitions = math.max(1, facts.build.partitions).toDouble
  private val buildRows = atLeastZero(facts.build.rows)
  private val buildBytes = buildRows * atLeastZero(facts.build.memoryBytesPerRow)
  private val scanRows = atLeastZero(facts.probe.scanRows)
  private val probeRows = atLeastZero(facts.probe.rows)
  private val byRow = facts.build.keys.isLookedUpByRow
  private val path = new PathPrice(facts.probe.path, slots, prices, thresholds)
  private lazy val wholePath = path.terms(1.0)
  private lazy val filteredPath = path.terms(passRate)

  /** The price in nanoseconds: the sum of [[terms]]. */
  def price(option: JoinOption): Double = terms(option).map(_.nanos).sum

  /** The price without what a filter spares scans of other joins, which those joins count themselves once they have run. */
  def priceOfOwnScans(option: JoinOption): Double = terms(option).filterNot(_.name == PathPrice.OtherScans).map(_.nanos).sum

  /** The terms of the price, in the order of the formula. */
  def terms(option: JoinOption): Seq[CostTerm] = {
    val passing = if (option.withFilter) passRate else 1.0
    val joined = option.method match {
      case Method.Broadcast    => broadcastTerms(probeRows * passing) ++ sortAbove(probeRows * passing)
      case Method.ShuffledHash => shuffledHashTerms(probeRows * passing) ++ sortAbove(probeRows * passing)
      case Method.SortMerge    => sortMergeTerms(probeRows * passing)
    }
    val left = if (leavesShuffle(option)) path.leavingTerms(sharedPassRate, shuffle(sharedPassRate)) else Nil
    val unreduced = if (option.withFilter || !mayFilter) Nil else path.unreducedTerms(passRate)
    val ofFilter = if (option.withFilter) filterTerms else Nil
    Seq(
      scan(option, passing),
      reachJoin(option, passing),
      unreduced,
      left,
      buildShuffle(option.method),
      joined,
      ofFilter
    ).flatten
  }

  private def shuffles(option: JoinOption): Double = {
    // The facts of a broadcast build side already leave out the probe side's shuffle.
    val own = if (isNewBroadcast(option) && !facts.orderUsed) 1 else 0
    math.max(path.shuffles, math.max(0, facts.probe.exchanges) - own).toDouble
  }

  private def isNewBroadcast(option: JoinOption): Boolean = option.method == Method.Broadcast && !facts.build.alreadyBroadcast

  private def scan(option: JoinOption, passing: Double): Seq[CostTerm] = {
    val keyless = if (option.withFilter) None else facts.probe.keyless
    def read(prunable: Long, ofKeyless: KeylessFiles => Long, price: Double): Double =
      (atLeastZero(prunable) * passing + keyless.fold(0.0)(files => atLeastZero(ofKeyless(files)))) * price / slots
    Seq(
      CostTerm("scan", read(facts.probe.prunableBytes, _.bytes, thresholds(CostScanNanosPerByte))),
      CostTerm("open", read(facts.probe.prunableFiles, _.files, thresholds(CostFileOpenNanos)))
    )
  }

  private def reachJoin(option: JoinOption, passing: Double): Seq[CostTerm] = Seq(
    CostTerm("pipeline", (if (facts.probe.beforeExchange) 0.0 else scanRows) * passing * thresholds(CostRowPipelineNanosPerRow) / slots),
    CostTerm("shuffle", (shuffles(option) - path.shuffles) * shuffle(passing)),
    CostTerm("shuffle launch", shuffles(option) * thresholds(CostJobLaunchNanos))
  ) ++ (if (option.withFilter) filteredPath else wholePath)

  /** Whether the option leaves a shared shuffle to its other uses, and nothing else charges for that. */
  private def leavesShuffle(option: JoinOption): Boolean = {
    val isOfSpark = facts.sparkStrategy == Strategy.Broadcast
    isNewBroadcast(option) && !isOfSpark && facts.probe.sharesShuffle
  }

  /** What passes the filter that the shared shuffle would have if the join stayed; everything without one. */
  private lazy val sharedPassRate: Double = {
    val pays = thresholds.isClearlyCheaper(price(JoinOption(Method.SortMerge, withFilter = true)), price(JoinOption.SortMerge))
    if (mayFilter && pays) passRate else 1.0
  }

  private lazy val mayFilter: Boolean =
    FilterChoice.illegal(facts, filter, thresholds).orElse(FilterChoice.gated(facts, passRate, thresholds)).isEmpty

  /** One shuffle of the rows that reach the join. */
  private def shuffle(passing: Double): Double = probeRows * passing * prices.shuffled(facts.probe.rowBytes) / slots

  private def buildShuffle(method: Method): Seq[CostTerm] = {
    val exchanges = if (method == Method.Broadcast) 0 else math.max(0, facts.build.exchanges)
    if (exchanges == 0) Nil
    else {
      val one = buildRows * prices.shuffled(facts.build.memoryBytesPerRow) / slots + thresholds(CostJobLaunchNanos)
      Seq(CostTerm("build shuffle", exchanges * one))
    }
  }

  private def sortMergeTerms(probeRowsLeft: Double): Seq[CostTerm] = Seq(
    CostTerm("sort", sorted(probeRowsLeft) / slots + sorted(buildRows) * heaviestShare),
    CostTerm("merge", (probeRowsLeft / slots + buildRows * heaviestShare) * thresholds(CostMergeNanosPerRow)),
    spill("spill", probeRowsLeft)
  )

  private def sorted(rows: Double): Double = prices.sorted(rows, partitions, facts.build.keys.isSortedByRow)

  private def spill(name: String, sortedRows: Double): CostTerm = {
    val bytes = sortedRows * atLeastZero(facts.probe.rowBytes)
    val spilled = facts.memory.flatMap(_.taskBytes).fold(0.0)(task => math.max(0.0, bytes - 2 * atLeastZero(task) * partitions))
    CostTerm(name, spilled * thresholds(CostShuffleNanosPerByte) / slots)
  }

  private def shuffledHashTerms(probeRowsLeft: Double): Seq[CostTerm] = Seq(
    CostTerm("hash build", buildRows * heaviestShare * thresholds(CostHashBuildNanosPerRow)),
    hashProbe(probeRowsLeft),
    CostTerm(
      "hash misses",
      (buildRows * heaviestShare + (if (byRow) probeRowsLeft else probeRows * passRate) / slots) * hashMiss(heaviestShare)
    )
  )

  private def hashProbe(probeRowsLeft: Double): CostTerm = CostTerm("hash probe", probeRowsLeft * prices.probe(byRow) / slots)

  private def hashMiss(shareOfTable: Double): Double =
    prices.hashMiss(BroadcastChoice.relationBytes(facts.build, thresholds) * shareOfTable)

  private def sortAbove(probeRowsLeft: Double): Seq[CostTerm] =
    if (facts.orderUsed)
      Seq(
        CostTerm("sort above", sorted(probeRowsLeft) / slots),
        spill("spill above", probeRowsLeft)
      )
    else Nil

  private def broadcastTerms(probeRowsLeft: Double): Seq[CostTerm] = {
    val relation =
      if (facts.build.alreadyBroadcast) Nil
      else
        Seq(
          CostTerm("collect", buildBytes * thresholds(CostCollectNanosPerByte)),
          CostTerm("hash build", buildRows * thresholds(CostHashBuildNanosPerRow)),
          CostTerm("hand over", buildBytes * thresholds(CostBroadcastNanosPerByte) * math.max(1, facts.cluster.executors)),
          CostTerm("launch", thresholds(CostJobLaunchNanos))
        )
    val misses = if (byRow) Seq(CostTerm("hash misses", probeRowsLeft * hashMiss(shareOfTable = 1) / slots)) else Nil
    (relation :+ hashProbe(probeRowsLeft)) ++ misses
  }

  private def filterTerms: Seq[CostTerm] = {
    val keys = facts.build.keys
    val kept = if (keys.kept) keys.distinct.map(distinct => math.min(atLeastZero(distinct), buildRows)) else None
    val rowsOfABuilder = kept.getOrElse(if (facts.build.alreadyBroadcast) buildRows else buildRows / slots)
    val bytesRead = if (kept.isEmpty && !facts.build.alreadyBroadcast) buildBytes else 0.0
    val checked = scanRows * (1 - facts.probe.keylessShare)
    Seq(
      CostTerm("filter build", rowsOfABuilder * thresholds(CostFilterBuildNanosPerRow)),
      CostTerm("filter read", bytesRead * CostModel.ReadShareOfShuffle * thresholds(CostShuffleNanosPerByte) / slots),
      CostTerm("filter hand over", prices.shared(filter.bytes)),
      CostTerm("filter launch", thresholds(CostJobLaunchNanos)),
      CostTerm(
        "filter check",
        checked * (thresholds(CostFilterCheckNanosPerRow) + keys.hashedColumns * thresholds(CostFilterHashNanosPerColumn)) / slots
      ),
      CostTerm("filter misses", checked * prices.filterMiss(filter.bytes) / slots)
    )
  }

  private def atLeastZero(count: Long): Double = math.max(0L, count).toDouble
}

object CostModel {
  val NanosPerMilli = 1e6

  /** The part of a byte's price through a shuffle that reading it back costs: 0.6 of 6 ns on average of rows of 16 to 1,168 bytes, 1.4 in
    * the narrow ones and 0.4 in the wide ones. The rows are taken as wide as the join gets them, which is nearly what the shuffle has.
    */
  private val ReadShareOfShuffle = 0.1

  /** The price that is the sum of `terms`. */
  def millis(terms: Seq[CostTerm]): Double = terms.map(_.nanos).sum / NanosPerMilli
}
