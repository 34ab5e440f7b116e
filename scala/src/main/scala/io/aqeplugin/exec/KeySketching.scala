package io.aqeplugin.exec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.sketch._

/** What a task needs to sketch its partition. */
private[exec] final case class SketchTask(coder: KeyCoder, limits: SketchLimits, sketches: SketchAccumulator) {
  def open(partition: Int): PartitionSketch = new PartitionSketch(this, partition)
}

/** The sketch of one partition while its rows pass. An error ends the sketch and not the task; the partition stays missing then.
  *
  * Mutable; belongs to the thread of its task.
  */
private[exec] final class PartitionSketch(task: SketchTask, partition: Int) {
  private val coder = task.coder
  private val sketcher = new KeySketcher(task.limits, coder.isExact)
  private var isOpen = true

  // Codes of rows, which are sketched many at a time.
  private val waiting = new Array[Long](1024)
  private var waitingCount = 0

  // For batches.
  private var positions = Array.emptyIntArray
  private var codes = Array.emptyLongArray
  private var scratch = Array.emptyLongArray

  // Once per row.
  def add(row: InternalRow): Unit = if (isOpen) {
    try
      if (coder.hasNull(row)) sketcher.addNulls(1)
      else {
        waiting(waitingCount) = coder.code(row)
        waitingCount += 1
        if (waitingCount == waiting.length) flush()
      }
    catch { case Survivable(error) => abandon(error) }
  }

  def add(batch: ColumnarBatch): Unit = if (isOpen) {
    try {
      val rows = batch.numRows
      if (positions.length < rows) {
        positions = new Array[Int](rows)
        codes = new Array[Long](rows)
        scratch = new Array[Long](rows)
      }
      var i = 0 // once per row
      while (i < rows) { positions(i) = i; i += 1 }
      val keyed = coder.codes(batch, positions, rows, codes, scratch)
      sketcher.addNulls(rows - keyed)
      i = 0
      // Positions ascend, so no code is overwritten before it is read.
      while (i < keyed) { codes(i) = codes(positions(i)); i += 1 }
      sketcher.add(codes, keyed)
    } catch { case Survivable(error) => abandon(error) }
  }

  /** Hands the sketch over; all rows have passed. */
  def end(): Unit = if (isOpen) {
    try {
      flush()
      task.sketches.add(new SketchedPartition(partition, sketcher.result.toBytes))
      isOpen = false
    } catch { case Survivable(error) => abandon(error) }
  }

  private def flush(): Unit = {
    sketcher.add(waiting, waitingCount)
    waitingCount = 0
  }

  private def abandon(error: Throwable): Unit = {
    isOpen = false
    Faults.note("key sketch", "the keys of a build side are not known", error)
  }
}

private[exec] final class SketchedRows(rows: Iterator[InternalRow], sketch: PartitionSketch) extends Iterator[InternalRow] {
  override def hasNext: Boolean = {
    val more = rows.hasNext
    if (!more) sketch.end()
    more
  }

  override def next(): InternalRow = {
    val row = rows.next()
    sketch.add(row)
    row
  }
}

private[exec] final class SketchedBatches(batches: Iterator[ColumnarBatch], sketch: PartitionSketch) extends Iterator[ColumnarBatch] {
  override def hasNext: Boolean = {
    val more = batches.hasNext
    if (!more) sketch.end()
    more
  }

  override def next(): ColumnarBatch = {
    val batch = batches.next()
    sketch.add(batch)
    batch
  }
}
