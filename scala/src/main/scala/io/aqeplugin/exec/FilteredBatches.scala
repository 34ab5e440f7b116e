package io.aqeplugin.exec

import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.aqeplugin.metrics.Survivable

/** The batches of a scan without the rows that a filter removes. A batch that loses every row is freed and skipped; a batch that loses none
  * is passed on unchanged. In between, rows are moved to the front of their vectors where that is allowed, else the vectors are wrapped.
  *
  * Not thread-safe; the vectors of a batch are valid until the next call of `hasNext`, as with every columnar scan.
  *
  * @param compacts
  *   whether rows may be moved within the vectors of the input, see [[CompactedVectors]]
  */
final class FilteredBatches(input: Iterator[ColumnarBatch], probes: Array[FilterProbe], counters: NodeCounters, compacts: Boolean = false)
    extends Iterator[ColumnarBatch] {

  // Mutable and reused for all batches of the task: this is the hot loop of the probe side.
  private var pending: ColumnarBatch = null
  private var positions = new Array[Int](0)
  private var before = new Array[Int](0)
  private var batches = 0

  override def hasNext: Boolean = {
    while (pending == null && input.hasNext) pending = selected(input.next())
    pending != null
  }

  override def next(): ColumnarBatch = {
    if (!hasNext) throw new NoSuchElementException("no batch is left")
    val batch = pending
    pending = null
    batch
  }

  private def selected(batch: ColumnarBatch): ColumnarBatch = {
    val rows = batch.numRows()
    val left = select(batch, rows)
    counters.rowsIn.add(rows.toLong)
    counters.rowsOut.add(left.toLong)
    if (left == rows) {
      batch
    } else if (left == 0) {
      batch.closeIfFreeable()
      null
    } else if (compacts) {
      CompactedVectors.keep(batch, positions, left)
    } else {
      new ColumnarBatch(Array.tabulate(batch.numCols())(c => ThisSparkLine.selected(batch.column(c), positions)), left)
    }
  }

  /** Writes the rows to keep into `positions` and returns their number. */
  private def select(batch: ColumnarBatch, rows: Int): Int = {
    batches += 1
    ProbeOrder.update(probes, batches)
    if (positions.length < rows) positions = new Array[Int](rows)
    selectAll(rows)
    var left = rows
    var p = 0
    while (p < probes.length && left > 0) {
      left = retained(probes(p), batch, rows, left)
      p += 1
    }
    left
  }

  /** A filter that fails may have left anything in `positions`. The rows that it was given all stay; rows that other filters removed do not
    * come back: operators above may fail on them.
    */
  private def retained(probe: FilterProbe, batch: ColumnarBatch, rows: Int, count: Int): Int = {
    if (count < rows) keepPositions(count)
    try probe.retain(batch, positions, count)
    catch {
      case Survivable(error) =>
        probe.fail(error)
        probe.unchecked(count)
        if (count < rows) System.arraycopy(before, 0, positions, 0, count) else selectAll(rows)
        count
    }
  }

  private def keepPositions(count: Int): Unit = {
    if (before.length < count) before = new Array[Int](positions.length)
    System.arraycopy(positions, 0, before, 0, count)
  }

  private def selectAll(rows: Int): Unit = {
    var i = 0
    while (i < rows) {
      positions(i) = i
      i += 1
    }
  }
}
