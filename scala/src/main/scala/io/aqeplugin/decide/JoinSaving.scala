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
    @Told(doc = "elapsed time; negative when the join became dearer, null when an option has no price", unit = "millis", kind = "number")
    elapsedMillis: Option[Double],
    @Told(doc = "time of all cores, likewise", unit = "millis", kind = "number") processorMillis: Option[Double],
    @Told(doc = "bytes that shuffles did not write", unit = "bytes") shuffleBytes: Double,
    @Told(doc = "bytes of files that were left out", unit = "bytes") unreadBytes: Double
)

object JoinSaving {

  /** @param applied
    *   the mode is apply
    * @param ran
    *   what ran; none for a method that has no price
    * @param rows
    *   what the join's filters did; none where they checked no row, whose share is then the expected one
    * @return
    *   none when the join ran as Spark runs it by itself
    */
  def of(
      decision: JoinDecision,
      applied: Boolean,
      ran: Option[JoinOption],
      rows: Option[RowsLeft],
      thresholds: Thresholds
  ): Option[JoinSaving] = {
    val facts = decision.facts
    val spark = JoinOption.of(facts.sparkStrategy, withFilter = false)
    if (ran == spark) None
    else {
      val left = if (ran.exists(_.withFilter)) rows.fold(decision.passRate)(_.share) else 1.0
      val met = rows.filter(_ => facts.probe.scanRows > 0).fold(facts)(found => reaching(facts, found.scanned))
      def price(of: JoinFacts, slots: Int, option: JoinOption): Double = {
        val cluster = of.cluster.copy(slots = slots)
        new CostModel(of.copy(cluster = cluster), left, FilterSize.of(of.build, thresholds), thresholds).price(option)
      }
      // Another method pays for the rows that the join gets, a filter for those that its scans would have given without any.
      def saved(slots: Int): Option[Double] =
        for (of <- spark; taken <- ran if facts.build.rows >= 0) yield {
          val plain = taken.copy(withFilter = false)
          val byMethod = price(facts, slots, of) - price(facts, slots, plain)
          val byFilter = price(met, slots, plain) - price(met, slots, taken)
          (byMethod + byFilter) / CostModel.NanosPerMilli
        }
      Some(
        JoinSaving(
          facts.joinId,
          applied,
          saved(facts.cluster.slots),
          // With one slot, the formula has the work of all.
          saved(slots = 1),
          ran.fold(0.0)(notShuffled(met, _, 1 - left)),
          (1 - left) * math.max(0L, met.probe.prunableBytes)
        )
      )
    }
  }

  private def reaching(facts: JoinFacts, scanRows: Long): JoinFacts =
    facts.copy(probe = facts.probe.scaled(scanRows.toDouble / facts.probe.scanRows))

  /** The bytes that shuffles between the scans and the join do not write, as the price counts shuffles: a filter takes the share `removed` of
    * each, and a broadcast in place of Spark's shuffle the join's own.
    */
  private def notShuffled(facts: JoinFacts, ran: JoinOption, removed: Double): Double = {
    val probe = facts.probe
    def bytes(rows: Long, rowBytes: Long): Double = math.max(0L, rows).toDouble * math.max(0L, rowBytes)
    val below = probe.path.collect { case step: PathStep.Shuffle => bytes(step.rows, step.rowBytes) }
    val own = bytes(probe.rows, probe.rowBytes)
    val shuffles = math.max(0, probe.exchanges - below.size)
    val isNew = ran.method == Method.Broadcast && facts.sparkMethod != Method.Broadcast && !facts.orderUsed
    val avoided = if (isNew && shuffles > 0) own else 0.0
    val spared = probe.path.collectFirst { case step: PathStep.Shared => step.share.max(0.0).min(1.0) }.getOrElse(1.0)
    compressedShare(facts.build) * (avoided * spared + (shuffles * own - avoided + below.sum) * removed)
  }

  /** Bytes that the build side's stage wrote for a byte in memory, at most 1; 0 where no shuffle wrote it, of which nothing is known. */
  private def compressedShare(build: BuildFacts): Double =
    if (build.alreadyBroadcast || build.memoryBytes <= 0 || build.stageBytes <= 0) 0.0
    else math.min(1.0, build.stageBytes.toDouble / build.memoryBytes)
}
