package io.aqeplugin.exec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
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
  private var positions = Array.emptyIntArray
  private var codes = Array.emptyLongArray
  private var scratch = Array.emptyLongArray

  // Once per row.
  def add(row: InternalRow): Unit = if (isOpen) {
    try
      if (coder.hasNull(row)) sketcher.addNull()
      else if (sketcher.add(coder.code(row))) row match {
        case unsafe: UnsafeRow => sketcher.addWidth(unsafe.getSizeInBytes)
        case _                 =>
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
      i = keyed
      while (i < rows) { sketcher.addNull(); i += 1 }
      i = 0
      while (i < keyed) { sketcher.add(codes(positions(i))); i += 1 }
    } catch { case Survivable(error) => abandon(error) }
  }

  /** Hands the sketch over; all rows have passed. */
  def end(): Unit = if (isOpen) {
    isOpen = false
    try task.sketches.add(new SketchedPartition(partition, sketcher.result.toBytes))
    catch { case Survivable(error) => abandon(error) }
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
