package io.aqeplugin.observe

import io.aqeplugin.decide.{Reason, RowsLeft, Told}

/** The result of one filter in one place, on a scan or in front of an exchange. */
@Told(doc = "the outcome of one filter in one place, summed over all tasks of the query")
final case class FilterOutcome(
    @Told(doc = "the id in FilterPlanned") filterId: String,
    @Told(doc = "the join whose keys the filter holds") joinId: String,
    @Told(doc = PlacedFilter.Places) table: String,
    @Told(doc = "the checked columns") scanColumns: Seq[String],
    @Told(doc = "kind of filter; pass_all when none was built, missing when the scan did not find it") kind: String,
    @Told(doc = "why the filter passed every row") reason: Option[Reason],
    @Told(doc = "rows that the filter checked", unit = "rows") rowsIn: Long,
    @Told(doc = "checked rows that passed", unit = "rows") rowsOut: Long,
    @Told(
      doc =
        "rows that passed unchecked: while the filter was paused because it removed too few rows, or because their key could not be computed",
      unit = "rows"
    ) rowsUnchecked: Long,
    @Told(doc = "memory of the filter", unit = "bytes") filterBytes: Long,
    @Told(doc = "duration of the filter build", unit = "millis") buildMillis: Long,
    @Told(doc = "time from the query's start until the scan had its filters", unit = "millis") waitMillis: Long,
    @Told(doc = "build rows with a key", unit = "rows") keys: Long,
    @Told(
      doc = "the first filter of the union that the filter is part of, whose rows are those of the union; null if it stands alone",
      optional = true
    ) anyOf: String = "",
    @Told(doc = "data files that the scan did not read because they hold none of the keys; null if not known", unit = "files")
    filesLeftOut: Option[Long] = None,
    @Told(doc = "bytes of these files", unit = "bytes") bytesLeftOut: Option[Long] = None,
    @Told(doc = "why the scan read all files although its keys are known; null if it did not, or for no such reason")
    filesKept: Option[Reason] = None,
    @Told(doc = "data files that the scan would have read otherwise; null if `filesLeftOut` is", unit = "files")
    filesListed: Option[Long] = None
) {

  /** Whether the scan found its filter when it ran; one that passes all rows counts as found and has a reason. */
  def found: Boolean = kind != FilterOutcome.Missing

  /** Whether the scan let all rows pass. */
  def passesAll: Boolean = kind == FilterOutcome.Missing || kind == FilterOutcome.PassAll
}

object FilterOutcome {

  /** The kind of a filter that was planned but not found by its scan. */
  val Missing = "missing"

  /** The filters of one scan, the parts of a union as one. */
  def passed(ofScan: Seq[FilterOutcome]): Seq[RowsLeft.Passed] =
    ofScan.groupBy(one => if (one.anyOf.isEmpty) one.filterId else one.anyOf).values.toSeq.filterNot(_.exists(_.passesAll)).map { unit =>
      val unchecked = unit.map(_.rowsUnchecked).sum
      RowsLeft.Passed(unit.map(_.joinId), unit.map(_.rowsIn).sum + unchecked, unit.map(_.rowsOut).sum + unchecked)
    }

  /** The kind of a filter that lets all rows pass. */
  val PassAll = "pass_all"
}
