package io.aqeplugin.limit

import io.aqeplugin.conf.{Named, Names}
import io.aqeplugin.decide.{Reason, ReasonCode, Told}

/** The operator that takes the first rows. */
sealed abstract class LimitOperator(val name: String) extends Named

object LimitOperator extends Names[LimitOperator] {

  /** The last operator of a query: the driver collects its rows. */
  case object Collect extends LimitOperator("collect")

  /** A limit inside a larger query. */
  case object Inner extends LimitOperator("inner")

  /** The first rows in the order of sort keys. */
  case object Top extends LimitOperator("top")

  val All: Seq[LimitOperator] = Seq(Collect, Inner, Top)
}

/** What the scan below a limit reads. */
sealed abstract class LimitChoice(val name: String) extends Named

object LimitChoice extends Names[LimitChoice] {

  /** The fewest files that surely hold the rows, all at once. */
  case object FewestFiles extends LimitChoice("fewest_files")

  /** Files in waves that follow the measured yield, until the rows are found. */
  case object Waves extends LimitChoice("waves")

  /** The files that may hold one of the first rows. */
  case object TopFiles extends LimitChoice("top_files")
  case object LeaveToSpark extends LimitChoice("leave_to_spark")

  val All: Seq[LimitChoice] = Seq(FewestFiles, Waves, TopFiles, LeaveToSpark)
}

/** What was known of a limit when it was decided. */
@Told(doc = "the facts of a limit when it was decided")
final case class LimitFacts(
    @Told(doc = "the operator that takes the rows") operator: LimitOperator,
    @Told(doc = "the scanned table; empty when the limit is not directly over a scan of files") table: String,
    @Told(doc = "rows that the limit takes, those that an offset skips included", unit = "rows") rowsWanted: Long,
    @Told(doc = "files of the scan after partition pruning", unit = "files") files: Int = 0,
    @Told(doc = "bytes of these files", unit = "bytes") bytes: Long = 0,
    @Told(doc = "files whose row count was known", unit = "files") footers: Int = 0,
    @Told(doc = "time that planning waited for footers", unit = "millis") footerMillis: Long = 0
)

/** The decision for one limit. */
@Told(doc = "the decision for one limit, with its reason")
final case class LimitDecision(
    @Told(doc = "the facts that were known") facts: LimitFacts,
    @Told(doc = "what the scan below the limit reads") choice: LimitChoice,
    @Told(doc = "why") reason: Reason,
    @Told(doc = "files that the scan may read", unit = "files") filesChosen: Int,
    @Told(
      doc =
        "rows of these files that pass the query's filters for certain; 0 for a sorted limit, whose files are chosen by their sort keys",
      unit = "rows"
    ) rowsProven: Long = 0
) {

  /** The text after the operator's name in a plan. */
  def inPlan: String = s"${choice.name}, ${reason.code.name}, $filesChosen of ${facts.files} files"
}

object LimitDecision {

  def leftToSpark(facts: LimitFacts, reason: Reason, rowsProven: Long = 0): LimitDecision =
    LimitDecision(facts, LimitChoice.LeaveToSpark, reason, facts.files, rowsProven)

  /** The decision for a limit without a sort.
    *
    * @param footerKey
    *   the conf key that limits how many footers are read
    */
  def of(facts: LimitFacts, choice: FileChoice, maxFooters: Long, footerKey: String): LimitDecision = {
    val rows = Reason(ReasonCode.EnoughRows, Some(choice.provenRows.toDouble), Some(facts.rowsWanted.toDouble), "rows")
    val unproven = rows.copy(code = ReasonCode.RowsNotProven, confKey = if (facts.footers >= maxFooters) footerKey else "")
    val all = Reason(ReasonCode.AllFilesNeeded, Some(choice.order.size.toDouble), Some(facts.files.toDouble), "files")
    val inWaves = facts.operator == LimitOperator.Collect
    if (facts.files <= 1 || (choice.isEnough && !inWaves && choice.first.size == facts.files)) leftToSpark(facts, all, choice.provenRows)
    else if (choice.isEnough) LimitDecision(facts, LimitChoice.FewestFiles, rows, choice.first.size, choice.provenRows)
    else if (inWaves) LimitDecision(facts, LimitChoice.Waves, unproven, choice.order.size, choice.provenRows)
    else leftToSpark(facts, unproven, choice.provenRows)
  }

  /** The decision for the first rows of a sorted table.
    *
    * @param kept
    *   files that may hold one of the first rows
    * @param isProven
    *   whether the footers alone say so
    * @param inOrder
    *   whether these files are read in the order of their values, until the rows found rule out the others
    */
  def top(facts: LimitFacts, kept: Int, isProven: Boolean, inOrder: Boolean, maxFooters: Long, footerKey: String): LimitDecision = {
    val files = Reason(ReasonCode.TopRows, Some(kept.toDouble), Some(facts.files.toDouble), "files")
    val key = if (facts.footers >= maxFooters) footerKey else ""
    if (inOrder || (isProven && kept < facts.files)) LimitDecision(facts, LimitChoice.TopFiles, files, kept)
    else if (isProven) leftToSpark(facts, files.copy(code = ReasonCode.RangesOverlap, confKey = key))
    else leftToSpark(facts, Reason(ReasonCode.RowsNotProven, None, Some(facts.rowsWanted.toDouble), "rows", key))
  }
}
