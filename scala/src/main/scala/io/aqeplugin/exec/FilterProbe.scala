package io.aqeplugin.exec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.aqeplugin.filters.KeyFilter
import io.aqeplugin.metrics.Faults

/** When a task pauses a filter that passes nearly every row.
  *
  * @param sampleBatches
  *   number of batches over which the pass rate is measured
  * @param maxPassRate
  *   the filter pauses above this pass rate
  * @param skipBatches
  *   number of batches that it pauses for before it is tried again
  */
final case class SelfDisable(sampleBatches: Int, maxPassRate: Double, skipBatches: Int)

object SelfDisable {

  /** The filter checks every row, however many pass. */
  val Never: SelfDisable = SelfDisable(Int.MaxValue, 1.0, 0)
}

/** One filter as used by one task. It holds that task's counters, so it is mutable and must not be shared. */
final class FilterProbe(coder: KeyCoder, filter: KeyFilter, pause: SelfDisable, counters: FilterCounters) {
  private var codes = new Array[Long](0)
  private var scratch = new Array[Long](0)
  private var sampledBatches = 0
  private var sampledIn = 0L
  private var sampledOut = 0L
  private var batchesToSkip = 0
  private var rowsChecked = 0L
  private var removed = 0L
  private var failed = false
  private var uncomputed = 0
  // A null has no entry in a dictionary.
  private val values = coder.onlyColumn.filterNot(_.readsNulls).map(new DecidedValues(_, filter))
  private val nanosPerRow = coder.nanosPerRow + CheckCost.nanosOfFilter(filter)

  /** Rows removed so far for a nanosecond of checks, by what a check costs ([[CheckCost]]); 0 before the first. */
  def removedPerNano: Double = removed / (math.max(1L, rowsChecked) * nanosPerRow)

  /** Keeps the positions whose rows may match: compacts `positions` in place and returns the number kept. After an error, the contents of
    * `positions` are undefined.
    */
  def retain(batch: ColumnarBatch, positions: Array[Int], count: Int): Int =
    if (isPaused()) {
      unchecked(count)
      count
    } else {
      if (codes.length < batch.numRows()) {
        codes = new Array[Long](batch.numRows())
        scratch = new Array[Long](batch.numRows())
      }
      val left = retained(batch, positions, count)
      seen(count, left)
      left
    }

  private def retained(batch: ColumnarBatch, positions: Array[Int], count: Int): Int = {
    val nonNull = coder.withoutNulls(batch, positions, count)
    val decided = values.fold(DecidedValues.Unknown)(_.retain(batch, positions, nonNull, codes))
    if (decided != DecidedValues.Unknown) decided else checked(batch, positions, nonNull)
  }

  private def checked(batch: ColumnarBatch, positions: Array[Int], count: Int): Int =
    filter.retain(codes, positions, coder.codesOf(batch, positions, count, codes, scratch))

  def mightMatch(row: InternalRow): Boolean = !coder.hasNull(row) && filter.mightContain(coder.code(row))

  /** Whether this filter is paused for the next batch or run of rows. */
  def isPaused(): Boolean =
    if (failed) {
      true
    } else if (batchesToSkip > 0) {
      batchesToSkip -= 1
      true
    } else {
      false
    }

  /** To be told when rows could not be checked: they pass. Pauses for good after a fault of the plugin, which is counted, and after several
    * batches in which a key could not be computed.
    */
  def fail(error: Throwable): Unit = error match {
    case _: KeyNotComputed =>
      uncomputed += 1
      if (uncomputed >= FilterProbe.MostUncomputed) batchesToSkip = Int.MaxValue
    case fault =>
      failed = true
      counters.faults.add(1L)
      Faults.note("filter probe", "a task continues without the filter", fault)
  }

  /** Records the rows of a batch for which the filter was paused; after a fault nothing is recorded. */
  def unchecked(rows: Int): Unit =
    if (!failed) {
      counters.rowsUnchecked.add(rows.toLong)
      ExecutorMetrics.rowsUnchecked.add(rows.toLong)
    }

  /** Records one checked batch, and decides whether to pause. */
  def seen(in: Int, out: Int): Unit = {
    counters.rowsIn.add(in.toLong)
    counters.rowsOut.add(out.toLong)
    ExecutorMetrics.rowsIn.add(in.toLong)
    ExecutorMetrics.rowsOut.add(out.toLong)
    rowsChecked += in
    removed += in - out
    sampledBatches += 1
    sampledIn += in
    sampledOut += out
    if (sampledBatches >= pause.sampleBatches) {
      if (sampledOut > pause.maxPassRate * sampledIn) {
        batchesToSkip = pause.skipBatches
        ExecutorMetrics.pauses.add(1L)
      }
      sampledBatches = 0
      sampledIn = 0L
      sampledOut = 0L
    }
  }
}

private[exec] object FilterProbe {

  /** Batches, or runs of rows, of a task in which a key could not be computed. More would cost the time of an exception each. */
  private val MostUncomputed = 4
}
