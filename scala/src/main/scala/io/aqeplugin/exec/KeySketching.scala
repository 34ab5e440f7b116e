package io.aqeplugin.exec

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.sketch._

/** What a task needs to sketch its partition.
  *
  * @param exactCodes
  *   number of distinct keys up to which the stage keeps all
  */
private[exec] final case class SketchTask(coder: KeyCoder, exactCodes: Int, sketches: SketchAccumulator) {

  /** The sketch of the task that calls it. It is handed over when the task has succeeded. */
  def open(): PartitionSketch = {
    val context = TaskContext.get()
    val sketch = new PartitionSketch(this, context.partitionId(), context.numPartitions())
    context.addTaskCompletionListener[Unit](done => if (!done.isFailed()) sketch.end())
    sketch
  }
}

/** The sketch of one partition while its rows pass. An error ends the sketch and not the task; the partition stays missing then.
  *
  * Mutable; belongs to the thread of its task. Generated code calls it.
  */
private[exec] final class PartitionSketch(task: SketchTask, partition: Int, partitions: Int) {
  private val coder = task.coder
  private val sketcher = new KeySketcher(SketchLimits.forTasks(partitions, task.exactCodes), coder.isExact)
  private var open = true

  // Codes of rows, which are sketched many at a time.
  private val waiting = new Array[Long](1024)
  private var waitingCount = 0
  private var nullCount = 0L

  // For batches.
  private var positions = Array.emptyIntArray
  private var codes = Array.emptyLongArray
  private var scratch = Array.emptyLongArray

  // These four: once per row.
  def isOpen: Boolean = open

  def add(row: InternalRow): Unit = if (open) {
    try if (coder.hasNull(row)) addNull() else add(coder.code(row))
    catch { case Survivable(error) => abandon(error) }
  }

  def addNull(): Unit = nullCount += 1

  def add(code: Long): Unit = {
    waiting(waitingCount) = code
    waitingCount += 1
    if (waitingCount == waiting.length) flush()
  }

  /** Ends the sketch, unless the error must end the task. */
  def fail(error: Throwable): Unit = error match {
    case Survivable(one) => abandon(one)
    case fatal           => throw fatal
  }

  def add(batch: ColumnarBatch): Unit = if (open) {
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
      nullCount += rows - keyed
      i = 0
      // Positions ascend, so no code is overwritten before it is read.
      while (i < keyed) { codes(i) = codes(positions(i)); i += 1 }
      sketcher.add(codes, keyed)
    } catch { case Survivable(error) => abandon(error) }
  }

  /** Hands the sketch over; all rows have passed. */
  def end(): Unit = {
    flush()
    if (open)
      try {
        sketcher.addNulls(nullCount)
        task.sketches.add(new SketchedPartition(partition, partitions, sketcher.result.toBytes))
      } catch { case Survivable(error) => abandon(error) }
    open = false
  }

  private def flush(): Unit = {
    if (open)
      try sketcher.add(waiting, waitingCount)
      catch { case Survivable(error) => abandon(error) }
    waitingCount = 0
  }

  private def abandon(error: Throwable): Unit = {
    open = false
    Faults.note("key sketch", "the keys of a build side are not known", error)
  }
}
