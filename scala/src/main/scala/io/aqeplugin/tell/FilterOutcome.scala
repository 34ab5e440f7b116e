package io.aqeplugin.tell

import io.aqeplugin.decide.Reason
import io.aqeplugin.exec.RuntimeFilterExec
import io.aqeplugin.observe.QueryState

/** What became of one filter on one scan.
  *
  * @param found
  *   whether the scan found its filter when it ran (one that passes all was found too, and says why)
  * @param kind
  *   kind of filter, `pass_all` or `missing`
  * @param waitMillis
  *   from the first planning of the query until the scan had its filters; what it would have waited for anyway is in it
  * @param keys
  *   build rows with a key
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
    batchesSkipped: Long,
    filterBytes: Long,
    buildMillis: Long,
    waitMillis: Long,
    keys: Long
)

object FilterOutcome {

  /** The kind of a filter that was planned and not found by its scan. */
  val Missing = "missing"

  /** The outcomes of all filters of a query that ran, in stages and subqueries too. Scans that were never started have none. */
  def of(query: QueryState): Seq[FilterOutcome] =
    query.startedFilters.flatMap(node => node.ran.toSeq.flatMap(found => node.labels.indices.map(i => outcome(node, found, i))))

  /** Faults that the tasks of a query met in its filters. */
  def faultsOf(query: QueryState): Long = query.startedFilters.map(_.metrics("numFaults").value.max(0L)).sum

  private def outcome(node: RuntimeFilterExec, run: RuntimeFilterExec.Run, i: Int): FilterOutcome = {
    val label = node.labels(i)
    def metric(name: String): Long = node.metrics(name).value.max(0L)
    val (kind, reason, filterBytes, buildMillis, keys) = run.filters(i) match {
      case Right(Right(built)) => (built.kind, None, built.sizeBytes, built.buildMillis, built.rows)
      case Right(Left(reason)) => ("pass_all", Some(reason), 0L, 0L, 0L)
      case Left(_)             => (Missing, None, 0L, 0L, 0L)
    }
    FilterOutcome(
      label.filterId,
      label.joinId,
      label.table,
      label.columns,
      found = run.filters(i).isRight,
      kind,
      reason,
      metric(s"filter${i}RowsIn"),
      metric(s"filter${i}RowsOut"),
      metric(s"filter${i}BatchesSkipped"),
      filterBytes,
      buildMillis,
      run.waitMillis,
      keys
    )
  }
}
