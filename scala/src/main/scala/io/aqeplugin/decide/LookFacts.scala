package io.aqeplugin.decide

import io.aqeplugin.conf.{AqeConf, Forced}

/** What a plan with joins reads, from what Spark's planning has found out by itself: by this is decided whether its joins are looked at.
  *
  * Rows that pass several joins count once for each of them: as moved, or as looked up if it is a broadcast join whose table a cache holds.
  */
@Told(doc = "what a plan with joins reads, by what is known before its joins are looked at")
final case class LookFacts(
    @Told(doc = "joins of the plan", unit = "joins") joins: Int,
    @Told(
      doc =
        "rows of the tables and of the finished stages below joins: measured, from statistics, or one for as many bytes as there are columns, from 8 to 32",
      unit = "rows"
    )
    rows: Long,
    @Told(
      doc = "bytes of their columns that are read: of a file of columns, as much as these types take of all",
      unit = "bytes"
    ) bytes: Long,
    @Told(doc = "these rows, each once for every join above that may shuffle and sort it, or broadcast it", unit = "rows") joinedRows: Long,
    @Told(doc = "the bytes, likewise", unit = "bytes") joinedBytes: Long,
    @Told(doc = "tasks that can read them at once, at most", unit = "tasks") slots: Int,
    @Told(
      doc = "files that are read of these tables beyond the first of each, where their number is known",
      unit = "files",
      optional = true
    ) files: Long = 0,
    @Told(
      doc =
        "lookups of these rows in small tables that Spark broadcasts; one by more than an integer counts as 4, which it takes as long as",
      unit = "lookups",
      optional = true
    ) lookups: Long = 0
)

/** Decides whether the joins of a plan are looked at: only if what could be saved is worth more than looking.
  * {{{
  * most saved   (bytes × scanNanosPerByte + files × fileOpenNanos + rows × rowPipelineNanosPerRow
  *                + joined bytes × 4 × shuffleNanosPerByte + joined rows × (shuffleNanosPerRow + mergeNanosPerRow + log2(rows) × sortNanosPerComparison)
  *                + lookups × hashProbeNanosPerRow) / slots
  * to look      joins × lookNanosPerJoin + jobLaunchNanos
  * }}}
  * The first is the price of reading all rows, and of moving and sorting them once for every join above, or of looking them up. It is an estimate and no
  * bound where rows were not counted, and where one table is read by more tasks than another. It is assumed that rows take 4 times the bytes in memory
  * that they take in files. Whatever saves something, a filter or a broadcast, costs a launch.
  */
object WorthLooking {

  /** Bytes in memory of rows that take one in a file. */
  val MemoryPerFileByte = 4.0

  private val Log2 = math.log(2)

  /** Why the joins are not looked at; none if they are, as they always are where some are forced. */
  def refused(facts: LookFacts, thresholds: Thresholds): Option[Reason] = {
    val ofJoin = thresholds(AqeConf.CostLookNanosPerJoin)
    val price = facts.joins * ofJoin + thresholds(AqeConf.CostJobLaunchNanos)
    val most = mostSavedNanos(facts, thresholds)
    if (ofJoin == 0 || thresholds.openGates || (thresholds(AqeConf.Force) ne Forced.None) || most >= price) None
    else
      Some(Reason(
        ReasonCode.NotWorthLooking,
        Some(most / CostModel.NanosPerMilli),
        Some(price / CostModel.NanosPerMilli),
        "millis",
        AqeConf.CostLookNanosPerJoin.key
      ))
  }

  private[decide] def mostSavedNanos(facts: LookFacts, thresholds: Thresholds): Double = {
    import AqeConf._
    val steps = math.max(0.0, math.log(math.max(1.0, facts.rows.toDouble)) / Log2)
    val joined = thresholds(CostShuffleNanosPerRow) + thresholds(CostMergeNanosPerRow) + steps * thresholds(CostSortNanosPerComparison)
    val work = facts.bytes * thresholds(CostScanNanosPerByte) + facts.files * thresholds(CostFileOpenNanos) + facts.rows * thresholds(
      CostRowPipelineNanosPerRow
    ) +
      facts.joinedBytes * MemoryPerFileByte * thresholds(CostShuffleNanosPerByte) + facts.joinedRows * joined +
      facts.lookups * thresholds(CostHashProbeNanosPerRow)
    work / math.max(1, facts.slots)
  }
}
