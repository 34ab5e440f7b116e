package io.aqeplugin.decide

/** What the decision on one join saved, by the prices that it was made with. */
@Told(
  doc =
    "what a join saved that ran, or in mode observe would have run, otherwise than Spark runs it by itself; predicted by price, at the " +
      "share of rows that its filters left"
)
final case class JoinSaving(
    @Told(doc = "the join") joinId: String,
    @Told(doc = "whether it ran so; in mode observe it would have") applied: Boolean,
    @Told(
      doc = "elapsed time; negative when the join became dearer, null when the rows of the build side are unknown",
      unit = "millis",
      kind = "number"
    )
    elapsedMillis: Option[Double],
    @Told(doc = "time of all cores, likewise", unit = "millis", kind = "number") processorMillis: Option[Double],
    @Told(doc = "bytes that shuffles did not write", unit = "bytes") shuffleBytes: Double,
    @Told(
      doc = "estimated bytes of partitions and files that were left out, which filters of other joins may have left out too",
      unit = "bytes"
    ) unreadBytes: Double,
    @Told(
      doc = "whether the probe side waited for a broadcast of Spark's own, before which Spark by itself would have shuffled it",
      optional = true
    ) sparesShuffle: Boolean = false
)

object JoinSaving {

  /** @param applied
    *   the mode is apply
    * @param ran
    *   what ran
    * @param rows
    *   what the join's filters did; none where they checked no row, whose share is then the expected one
    * @return
    *   none when the join ran as Spark runs it by itself
    */
  def of(
      decision: JoinDecision,
      applied: Boolean,
      ran: JoinOption,
      rows: Option[RowsLeft],
      thresholds: Thresholds
  ): Option[JoinSaving] = {
    val facts = decision.facts
    val spark = JoinOption(facts.methodWithoutFilters, withFilter = false)
    if (ran == spark && !facts.sparesShuffle) None
    else {
      val passRate = if (ran.withFilter) rows.fold(decision.passRate)(_.share) else decision.passRate
      val removed = if (ran.withFilter) 1 - passRate else 0.0
      val met = rows.filter(_ => facts.probe.scanRows > 0).fold(facts)(found => reaching(facts, found.scanned))
      def price(of: JoinFacts, slots: Int, option: JoinOption): Double = {
        val cluster = of.cluster.copy(slots = slots)
        new CostModel(of.copy(cluster = cluster), passRate, FilterSize.of(of.build, thresholds), thresholds).priceOfOwnScans(option)
      }
      // Another method pays for the rows that the join gets, a filter for those that its scans would have given without any.
      def saved(slots: Int): Option[Double] = Option.when(facts.build.rows >= 0) {
        val plain = ran.copy(withFilter = false)
        val byMethod = price(withoutWait(facts), slots, spark) - price(facts, slots, plain)
        val byFilter = price(met, slots, plain) - price(met, slots, ran)
        (byMethod + byFilter) / CostModel.NanosPerMilli
      }
      Some(
        JoinSaving(
          facts.joinId,
          applied,
          saved(facts.cluster.slots),
          // With one slot, the formula has the work of all.
          saved(slots = 1),
          notShuffled(met, ran, removed),
          removed * math.max(0L, met.probe.prunableBytes) + (if (ran.withFilter) met.probe.keyless.fold(0L)(_.bytes.max(0L)) else 0L),
          sparesShuffle = facts.sparesShuffle && avoidsShuffle(facts, ran)
        )
      )
    }
  }

  private def withoutWait(facts: JoinFacts): JoinFacts =
    if (facts.sparesShuffle) facts.copy(probe = facts.probe.copy(exchanges = facts.probe.exchanges + 1)) else facts

  private def reaching(facts: JoinFacts, scanRows: Long): JoinFacts =
    facts.copy(probe = facts.probe.scaled(scanRows.toDouble / facts.probe.scanRows))

  /** Whether a broadcast takes the place of a shuffle of the probe side that serves the join alone. */
  private def avoidsShuffle(facts: JoinFacts, ran: JoinOption): Boolean =
    ran.method == Method.Broadcast && !facts.orderUsed && (facts.methodWithoutFilters != Method.Broadcast || facts.sparesShuffle) &&
      ownShuffles(facts.probe) > 0

  private def ownShuffles(probe: ProbeFacts): Int = math.max(0, probe.exchanges - probe.path.count(_.isInstanceOf[PathStep.Shuffle]))

  /** The bytes that shuffles between the scans and the join do not write, as the price counts shuffles: a filter takes the share `removed` of
    * each, and a broadcast in place of Spark's shuffle the join's own.
    */
  private def notShuffled(facts: JoinFacts, ran: JoinOption, removed: Double): Double = {
    val probe = facts.probe
    def bytes(rows: Long, rowBytes: Long): Double = math.max(0L, rows).toDouble * math.max(0L, rowBytes)
    val below = probe.path.collect { case step: PathStep.Shuffle => bytes(step.rows, step.rowBytes) }
    val own = bytes(probe.rows, probe.rowBytes)
    val shuffles = ownShuffles(probe)
    val avoided = if (avoidsShuffle(facts, ran)) own else 0.0
    val spared = probe.path.collectFirst { case step: PathStep.Shared => step.share.max(0.0).min(1.0) }.getOrElse(1.0)
    compressedShare(facts.build) * (avoided * spared + (shuffles * own - avoided + below.sum) * removed)
  }

  /** Bytes that the build side's stage wrote for a byte in memory, at most 1; 0 where no shuffle wrote it, of which nothing is known. */
  private def compressedShare(build: BuildFacts): Double =
    if (build.alreadyBroadcast || build.memoryBytes <= 0 || build.stageBytes <= 0) 0.0
    else math.min(1.0, build.stageBytes.toDouble / build.memoryBytes)
}
