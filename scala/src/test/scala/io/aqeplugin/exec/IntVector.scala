package io.aqeplugin.exec

import org.apache.spark.sql.types.{Decimal, IntegerType}
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarArray, ColumnarMap}
import org.apache.spark.unsafe.types.UTF8String

/** A column of integers that records whether it was freed.
  *
  * @param look
  *   called whenever somebody asks the column for nulls
  */
private[exec] final class IntVector(values: IndexedSeq[Option[Int]], look: () => Unit = () => ()) extends ColumnVector(IntegerType) {
  var freed = false // read by the tests
  override def close(): Unit = freed = true
  override def closeIfFreeable(): Unit = freed = true
  override def hasNull: Boolean = { look(); values.contains(None) }
  override def numNulls(): Int = values.count(_.isEmpty)
  override def isNullAt(row: Int): Boolean = values(row).isEmpty
  override def getInt(row: Int): Int = values(row).getOrElse(0)
  override def getBoolean(row: Int): Boolean = unread
  override def getByte(row: Int): Byte = unread
  override def getShort(row: Int): Short = unread
  override def getLong(row: Int): Long = unread
  override def getFloat(row: Int): Float = unread
  override def getDouble(row: Int): Double = unread
  override def getArray(row: Int): ColumnarArray = unread
  override def getMap(row: Int): ColumnarMap = unread
  override def getDecimal(row: Int, precision: Int, scale: Int): Decimal = unread
  override def getUTF8String(row: Int): UTF8String = unread
  override def getBinary(row: Int): Array[Byte] = unread
  override def getChild(ordinal: Int): ColumnVector = unread
  private def unread: Nothing = throw new UnsupportedOperationException("an int column")
}
