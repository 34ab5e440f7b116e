package io.aqeplugin.exec

import org.apache.spark.sql.catalyst.InternalRow

import io.aqeplugin.metrics.Survivable

/** The rows of a row-based scan without those that a filter removes. Rows are checked in runs: counters are updated, and a filter may
  * pause, once per run.
  */
final class FilteredRows(input: Iterator[InternalRow], probes: Array[FilterProbe], counters: NodeCounters) extends Iterator[InternalRow] {
  import FilteredRows.RunLength

  // Mutable: the per-row loop of the probe side.
  private var pending: InternalRow = null
  private val active = new Array[Boolean](probes.length)
  private val runIn = new Array[Int](probes.length)
  private val runOut = new Array[Int](probes.length)
  private var rowsOfRun = 0
  private var keptOfRun = 0
  private var runs = 0
  startRun()

  override def hasNext: Boolean = {
    while (pending == null && input.hasNext) {
      val row = input.next()
      if (rowsOfRun == RunLength) { endRun(); startRun() }
      rowsOfRun += 1
      if (keep(row)) {
        keptOfRun += 1
        pending = row
      }
    }
    if (pending == null && rowsOfRun > 0) endRun()
    pending != null
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("no row is left")
    val row = pending
    pending = null
    row
  }

  private def keep(row: InternalRow): Boolean = {
    var kept = true
    var p = 0
    while (kept && p < probes.length) {
      runIn(p) += 1
      if (active(p)) {
        kept = mightMatch(p, row)
        if (kept) runOut(p) += 1
      }
      p += 1
    }
    kept
  }

  private def mightMatch(p: Int, row: InternalRow): Boolean =
    try probes(p).mightMatch(row)
    catch {
      case Survivable(error) =>
        probes(p).fail(error)
        active(p) = false
        true
    }

  /** Counts the rows of a run that the task did not read to its end, for example under a LIMIT. */
  def close(): Unit = if (rowsOfRun > 0) endRun()

  private def startRun(): Unit = {
    runs += 1
    ProbeOrder.update(probes, runs)
    var p = 0
    while (p < probes.length) {
      active(p) = !probes(p).isPaused()
      p += 1
    }
  }

  private def endRun(): Unit = {
    counters.rowsIn.add(rowsOfRun.toLong)
    counters.rowsOut.add(keptOfRun.toLong)
    var p = 0
    while (p < probes.length) {
      if (active(p)) probes(p).seen(runIn(p), runOut(p)) else probes(p).unchecked(runIn(p))
      runIn(p) = 0
      runOut(p) = 0
      p += 1
    }
    rowsOfRun = 0
    keptOfRun = 0
  }
}

object FilteredRows {

  /** The number of rows that Spark's columnar readers put into a batch. */
  val RunLength = 4096
}
