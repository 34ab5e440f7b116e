package io.aqeplugin.observe

import io.aqeplugin.decide.Reason

/** The result of one filter in one place, on a scan or in front of an exchange.
  *
  * @param found
  *   whether the scan found its filter when it ran; a filter that passes all rows counts as found and has a reason
  * @param kind
  *   kind of filter, `pass_all` or `missing`
  * @param waitMillis
  *   from the first planning of the query until the scan had its filters, including time that it would have waited anyway
  * @param keys
  *   number of build rows with a key
  * @param anyOf
  *   the first filter of the union that the filter is one of, whose counts of rows are those of the union; empty if it stands alone
  */
final case class FilterOutcome(
    filterId: String,
    joinId: String,
    table: String,
    scanColumns: Seq[String],
    found: Boolean,
    kind: String,
    reason: Option[Reason],
    rowsIn: Long,
    rowsOut: Long,
    rowsUnchecked: Long,
    filterBytes: Long,
    buildMillis: Long,
    waitMillis: Long,
    keys: Long,
    anyOf: String = ""
) {

  /** Whether the scan let all rows pass. */
  def passesAll: Boolean = kind == FilterOutcome.Missing || kind == FilterOutcome.PassAll
}

object FilterOutcome {

  /** The kind of a filter that was planned but not found by its scan. */
  val Missing = "missing"

  /** The kind of a filter that lets all rows pass. */
  val PassAll = "pass_all"
}
