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
    case files: FileSourceScanExec if files.output.forall(column => moves(column.dataType)) =>
      files.vectorTypes.filter(_.forall(KnownClasses))
    case _ => None
  }

  private val KnownClasses: Set[String] =
    Set(classOf[OnHeapColumnVector], classOf[OffHeapColumnVector], classOf[ConstantColumnVector]).map(_.getName)

  /** Whether it is known how a writable vector holds values of a type: all that keys may have, and lists and structs. */
  private def moves(dataType: DataType): Boolean = dataType match {
    case StructType(fields)        => fields.forall(field => moves(field.dataType))
    case _: ArrayType | _: MapType => true
    case other                     => KeyKind.of(other).isRight
  }

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
      vector.dataType match {
        case StructType(fields) => fields.indices.foreach(field => move(vector.getChild(field), positions, from, count))
        case BooleanType        => moveBooleans(vector, positions, from, count)
        case ByteType           => moveBytes(vector, positions, from, count)
        case ShortType          => moveShorts(vector, positions, from, count)
        case FloatType          => moveFloats(vector, positions, from, count)
        case DoubleType         => moveDoubles(vector, positions, from, count)
        case IntegerType | DateType | _: YearMonthIntervalType                       => moveInts(vector, positions, from, count)
        case d: DecimalType if DecimalType.is32BitDecimalType(d)                     => moveInts(vector, positions, from, count)
        case LongType | TimestampType | TimestampNTZType | _: DayTimeIntervalType    => moveLongs(vector, positions, from, count)
        case d: DecimalType if DecimalType.is64BitDecimalType(d)                     => moveLongs(vector, positions, from, count)
        case _: DecimalType | _: StringType | BinaryType | _: ArrayType | _: MapType => moveRuns(vector, positions, from, count)
        case time if KeyKind.isTime(time)                                            => moveLongs(vector, positions, from, count)
        case other => throw new IllegalStateException(s"${other.sql} cannot be compacted")
      }
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
