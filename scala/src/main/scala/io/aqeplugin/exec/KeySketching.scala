package io.aqeplugin.exec

import java.util.function.{BooleanSupplier, Consumer, DoubleConsumer, IntFunction, LongConsumer, Supplier}

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.filters.KeyHasher
import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.sketch._

/** What a task needs to sketch its partition.
  *
  * @param exactCodes
  *   number of distinct keys up to which the stage keeps all
  */
private[exec] final case class SketchTask(coder: KeyCoder, exactCodes: Int, sketches: SketchAccumulator)
    extends Supplier[PartitionSketch] {

  /** The sketch of the task that calls it. It is handed over when the task has succeeded. */
  override def get(): PartitionSketch = {
    val context = TaskContext.get()
    val sketch = new PartitionSketch(this, context.partitionId(), context.numPartitions())
    context.addTaskCompletionListener[Unit](done => if (!done.isFailed()) sketch.end())
    sketch
  }
}

/** The sketch of one partition while its rows pass. An error ends the sketch and not the task; the partition stays missing then.
  *
  * Mutable; belongs to the thread of its task.
  *
  * Generated code calls it by interfaces of the JDK alone: [[GeneratedSketch]]. Spark compiles that code with the class loader of whichever
  * thread comes first, and of those some do not know the plugin's jar.
  */
private[exec] final class PartitionSketch(task: SketchTask, partition: Int, partitions: Int)
    extends IntFunction[AnyRef]
    with BooleanSupplier
    with Runnable
    with Consumer[Throwable] {
  private val coder = task.coder
  private val sketcher = new KeySketcher(SketchLimits.forTasks(partitions, task.exactCodes), coder.areValues, coder.areTexts)
  private var open = true

  // The columns of texts: their place in the key and in the row.
  private val textColumns = coder.areTexts.zipWithIndex.collect { case (true, column) => column }.toArray
  private val textOrdinals = textColumns.map(coder.ordinals)

  // Codes of the columns of rows, which are sketched many at a time.
  private val waiting = coder.areValues.map(_ => new Array[Long](1024)).toArray
  private val firstWaiting = waiting(0)
  private var waitingCount = 0
  private var nullCount = 0L

  // For batches.
  private var positions = Array.emptyIntArray
  private var codes = waiting.map(_ => Array.emptyLongArray)
  private var combined = Array.emptyLongArray

  // From here to `added`: once per row.
  override def getAsBoolean: Boolean = open

  def add(row: InternalRow): Unit = if (open) {
    try
      if (coder.hasNull(row)) addNull()
      else {
        coder.columnCodes(row, waiting, waitingCount)
        addTexts(row)
        added()
      }
    catch { case Survivable(error) => abandon(error) }
  }

  /** A row whose key is null. */
  override def run(): Unit = addNull()

  private def addNull(): Unit = nullCount += 1

  private def addTexts(row: InternalRow): Unit = {
    var t = 0
    while (t < textColumns.length) {
      val column = textColumns(t)
      if (sketcher.keepsTexts(column)) sketcher.addText(column, waiting(column)(waitingCount), row.getUTF8String(textOrdinals(t)))
      t += 1
    }
  }

  /** What takes the values of one column of the key, see [[GeneratedSketch]]. Those of the last column end the row. */
  override def apply(column: Int): AnyRef = {
    val isLast = column == waiting.length - 1
    val codes = waiting(column)
    def put(code: Long): Unit = {
      codes(waitingCount) = code
      if (isLast) added()
    }
    coder.ofValues(column) match {
      case texts: ObjectColumn if texts.isText =>
        (
            (text: UTF8String) => {
              val code = texts.codeOf(text)
              sketcher.addText(column, code, text)
              put(code)
            }
        ): Consumer[UTF8String]
      case objects: ObjectColumn => ((value: AnyRef) => put(objects.codeOf(value))): Consumer[AnyRef]
      case _: FloatingColumn     => ((value: Double) => put(KeyHasher.floatingCode(value))): DoubleConsumer
      case _                     => (value => put(value)): LongConsumer
    }
  }

  private def added(): Unit = {
    waitingCount += 1
    if (waitingCount == firstWaiting.length) flush()
  }

  /** Ends the sketch, unless the error must end the task. */
  override def accept(error: Throwable): Unit = error match {
    case Survivable(one) => abandon(one)
    case fatal           => throw fatal
  }

  def add(batch: ColumnarBatch): Unit = if (open) {
    try {
      val rows = batch.numRows
      if (positions.length < rows) {
        positions = new Array[Int](rows)
        codes = codes.map(_ => new Array[Long](rows))
      }
      var i = 0 // once per row
      while (i < rows) { positions(i) = i; i += 1 }
      val keyed = coder.columnCodes(batch, positions, rows, codes)
      nullCount += rows - keyed
      addTexts(batch, keyed)
      codes.foreach(moveToFront(_, keyed))
      sketch(codes, keyed)
    } catch { case Survivable(error) => abandon(error) }
  }

  private def addTexts(batch: ColumnarBatch, keyed: Int): Unit = {
    var t = 0 // once per batch and column of texts
    while (t < textColumns.length) {
      val column = textColumns(t)
      val vector = batch.column(textOrdinals(t))
      var i = 0 // once per row, while the texts are few
      while (i < keyed && sketcher.keepsTexts(column)) {
        val p = positions(i)
        sketcher.addText(column, codes(column)(p), vector.getUTF8String(p))
        i += 1
      }
      t += 1
    }
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
      try sketch(waiting, waitingCount)
      catch { case Survivable(error) => abandon(error) }
    waitingCount = 0
  }

  /** Positions ascend, so no code is overwritten before it is read. */
  private def moveToFront(codes: Array[Long], count: Int): Unit = {
    var i = 0 // once per row and column
    while (i < count) { codes(i) = codes(positions(i)); i += 1 }
  }

  /** Sketches rows by the codes of their columns, whose contents are lost. */
  private def sketch(codes: Array[Array[Long]], count: Int): Unit =
    if (codes.length == 1) sketcher.add(codes(0), count)
    else {
      combine(codes, count)
      var c = 0
      while (c < codes.length) { sketcher.addColumn(c, codes(c), count); c += 1 }
      sketcher.add(combined, count)
    }

  /** As [[KeyCoder.code]] combines them. */
  private def combine(codes: Array[Array[Long]], count: Int): Unit = {
    if (combined.length < count) combined = new Array[Long](count)
    System.arraycopy(codes(0), 0, combined, 0, count)
    var c = 1 // once per column; the inner loop runs once per row
    while (c < codes.length) {
      val next = codes(c)
      var i = 0
      while (i < count) { combined(i) = KeyHasher.combine(combined(i), next(i)); i += 1 }
      c += 1
    }
  }

  private def abandon(error: Throwable): Unit = {
    open = false
    Faults.note("key sketch", "the keys of a build side are not known", error)
  }
}
