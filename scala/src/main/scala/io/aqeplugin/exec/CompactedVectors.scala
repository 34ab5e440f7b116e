package io.aqeplugin.exec

import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.vectorized.{ConstantColumnVector, OffHeapColumnVector, OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.aqeplugin.observe.KeyKind

/** Moves the rows that a batch keeps to its front, in the vectors that hold them. The batch keeps its concrete classes, so the code that
  * Spark generates above needs no other.
  *
  * Only for scans of which it is known that nobody else reads a vector after it was given out, and that the reader fills it anew for the
  * next batch. Dictionary-encoded columns move their ids; strings, binaries, arrays and maps move offsets and lengths, not their bytes.
  */
private[exec] object CompactedVectors {

  /** The vector classes of the batches of `scan`, if all of them can be compacted. */
  def classesOf(scan: SparkPlan): Option[Seq[String]] = scan match {
    case files: FileSourceScanExec if files.output.forall(column => moveOf(column.dataType).isDefined) =>
      files.vectorTypes.filter(_.forall(KnownClasses))
    case _ => None
  }

  private val KnownClasses: Set[String] =
    Set(classOf[OnHeapColumnVector], classOf[OffHeapColumnVector], classOf[ConstantColumnVector]).map(_.getName)

  /** The first `count` rows at `positions`, which ascend, as rows 0, 1, … of a new batch of the same vectors. */
  def keep(batch: ColumnarBatch, positions: Array[Int], count: Int): ColumnarBatch = {
    var from = 0 // rows before it stay where they are
    while (from < count && positions(from) == from) from += 1
    val columns = Array.tabulate(batch.numCols())(batch.column)
    columns.foreach {
      case writable: WritableColumnVector => move(writable, positions, from, count)
      case _: ConstantColumnVector        => ()
      case other                          => throw new IllegalStateException(s"${other.getClass.getName} cannot be compacted")
    }
    new ColumnarBatch(columns, count)
  }

  private def move(vector: WritableColumnVector, positions: Array[Int], from: Int, count: Int): Unit = if (!vector.isAllNull) {
    if (vector.hasNull) moveNulls(vector, positions, from, count)
    if (vector.hasDictionary) moveIds(vector.getDictionaryIds, positions, from, count)
    else
      moveOf(vector.dataType) match {
        case Some(move) => move(vector, positions, from, count)
        case None       => throw new IllegalStateException(s"${vector.dataType.sql} cannot be compacted")
      }
  }

  private type Move = (WritableColumnVector, Array[Int], Int, Int) => Unit

  /** How a writable vector moves values of a type; none if it is not known how it holds them. */
  private def moveOf(dataType: DataType): Option[Move] = dataType match {
    case StructType(fields) =>
      Option.when(fields.forall(field => moveOf(field.dataType).isDefined)) { (vector, positions, from, count) =>
        fields.indices.foreach(field => move(vector.getChild(field), positions, from, count))
      }
    case BooleanType                                                             => Some(moveBooleans)
    case ByteType                                                                => Some(moveBytes)
    case ShortType                                                               => Some(moveShorts)
    case FloatType                                                               => Some(moveFloats)
    case DoubleType                                                              => Some(moveDoubles)
    case IntegerType | DateType | _: YearMonthIntervalType                       => Some(moveInts)
    case d: DecimalType if DecimalType.is32BitDecimalType(d)                     => Some(moveInts)
    case LongType | TimestampType | TimestampNTZType | _: DayTimeIntervalType    => Some(moveLongs)
    case d: DecimalType if DecimalType.is64BitDecimalType(d)                     => Some(moveLongs)
    case _: DecimalType | _: StringType | BinaryType | _: ArrayType | _: MapType => Some(moveRuns)
    case time if KeyKind.isTime(time)                                            => Some(moveLongs)
    case _                                                                       => None
  }

  // Once per row and column. A position is never before the place that it moves to, so nothing is read after it was overwritten.

  // Only where it differs: a vector counts every null that is put into it, and starts from 0 only when it is filled anew.
  private def moveNulls(vector: WritableColumnVector, positions: Array[Int], from: Int, count: Int): Unit = {
    var i = from
    while (i < count) {
      val isNull = vector.isNullAt(positions(i))
      if (isNull != vector.isNullAt(i)) {
        if (isNull) vector.putNull(i) else vector.putNotNull(i)
      }
      i += 1
    }
  }

  private def moveIds(ids: WritableColumnVector, positions: Array[Int], from: Int, count: Int): Unit = {
    var i = from
    while (i < count) { ids.putInt(i, ids.getDictId(positions(i))); i += 1 }
  }

  private def moveRuns(vector: WritableColumnVector, positions: Array[Int], from: Int, count: Int): Unit = {
    var i = from
    while (i < count) {
      val p = positions(i)
      vector.putArray(i, vector.getArrayOffset(p), vector.getArrayLength(p))
      i += 1
    }
  }

  private def moveBooleans(vector: WritableColumnVector, positions: Array[Int], from: Int, count: Int): Unit = {
    var i = from
    while (i < count) { vector.putBoolean(i, vector.getBoolean(positions(i))); i += 1 }
  }

  private def moveBytes(vector: WritableColumnVector, positions: Array[Int], from: Int, count: Int): Unit = {
    var i = from
    while (i < count) { vector.putByte(i, vector.getByte(positions(i))); i += 1 }
  }

  private def moveShorts(vector: WritableColumnVector, positions: Array[Int], from: Int, count: Int): Unit = {
    var i = from
    while (i < count) { vector.putShort(i, vector.getShort(positions(i))); i += 1 }
  }

  private def moveInts(vector: WritableColumnVector, positions: Array[Int], from: Int, count: Int): Unit = {
    var i = from
    while (i < count) { vector.putInt(i, vector.getInt(positions(i))); i += 1 }
  }

  private def moveLongs(vector: WritableColumnVector, positions: Array[Int], from: Int, count: Int): Unit = {
    var i = from
    while (i < count) { vector.putLong(i, vector.getLong(positions(i))); i += 1 }
  }

  private def moveFloats(vector: WritableColumnVector, positions: Array[Int], from: Int, count: Int): Unit = {
    var i = from
    while (i < count) { vector.putFloat(i, vector.getFloat(positions(i))); i += 1 }
  }

  private def moveDoubles(vector: WritableColumnVector, positions: Array[Int], from: Int, count: Int): Unit = {
    var i = from
    while (i < count) { vector.putDouble(i, vector.getDouble(positions(i))); i += 1 }
  }
}
