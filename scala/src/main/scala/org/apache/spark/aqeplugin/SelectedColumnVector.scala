package org.apache.spark.aqeplugin

import org.apache.spark.sql.types.Decimal
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarArray, ColumnarMap}
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

/** Presents the rows `selection(0)`, `selection(1)`, … of another vector as rows 0, 1, …, without copying.
  *
  * Children are wrapped with the same selection, because final methods of `ColumnVector` read structs and variants from `getChild(i)` by
  * the given row number.
  *
  * Implements the getters that the vectors of every Spark line have; [[SparkLineApi.selected]] adds those of the jar's own line.
  */
private[aqeplugin] class SelectedColumnVector(vector: ColumnVector, selection: Array[Int]) extends ColumnVector(vector.dataType) {

  final override def close(): Unit = vector.close()

  // Not close(): a constant vector (a partition value) must outlive the batch.
  final override def closeIfFreeable(): Unit = vector.closeIfFreeable()

  final override def hasNull: Boolean = vector.hasNull

  /** An upper bound; readers of a batch rely on no more. */
  final override def numNulls(): Int = vector.numNulls()

  final override def isNullAt(rowId: Int): Boolean = vector.isNullAt(selection(rowId))
  final override def getBoolean(rowId: Int): Boolean = vector.getBoolean(selection(rowId))
  final override def getByte(rowId: Int): Byte = vector.getByte(selection(rowId))
  final override def getShort(rowId: Int): Short = vector.getShort(selection(rowId))
  final override def getInt(rowId: Int): Int = vector.getInt(selection(rowId))
  final override def getLong(rowId: Int): Long = vector.getLong(selection(rowId))
  final override def getFloat(rowId: Int): Float = vector.getFloat(selection(rowId))
  final override def getDouble(rowId: Int): Double = vector.getDouble(selection(rowId))
  final override def getArray(rowId: Int): ColumnarArray = vector.getArray(selection(rowId))
  final override def getMap(rowId: Int): ColumnarMap = vector.getMap(selection(rowId))
  final override def getDecimal(rowId: Int, precision: Int, scale: Int): Decimal = vector.getDecimal(selection(rowId), precision, scale)
  final override def getUTF8String(rowId: Int): UTF8String = vector.getUTF8String(selection(rowId))
  final override def getBinary(rowId: Int): Array[Byte] = vector.getBinary(selection(rowId))

  // Not through the children: an Arrow vector has none for an interval.
  final override def getInterval(rowId: Int): CalendarInterval = vector.getInterval(selection(rowId))

  // Read once per row and field of a struct, so wrapped once per batch; null until then.
  private var children: Array[ColumnVector] = null

  final override def getChild(ordinal: Int): ColumnVector = {
    if (children == null || children.length <= ordinal) {
      children = if (children == null) new Array[ColumnVector](ordinal + 1) else java.util.Arrays.copyOf(children, ordinal + 1)
    }
    if (children(ordinal) == null) children(ordinal) = ThisSparkLine.selected(vector.getChild(ordinal), selection)
    children(ordinal)
  }
}
