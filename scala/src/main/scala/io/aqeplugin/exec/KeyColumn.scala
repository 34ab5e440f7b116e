package io.aqeplugin.exec

import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.sql.execution.vectorized.WritableColumnVector
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnVector
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.filters.KeyHasher
import io.aqeplugin.observe.{JoinKey, KeyKind}

/** Reads one key of a row, or of many rows of a batch, as 64-bit codes.
  *
  * @param ordinal
  *   of the column that the key reads
  */
abstract class KeyColumn(val ordinal: Int) extends Serializable {

  /** Whether the key of a row is null. */
  def isNull(row: InternalRow): Boolean

  /** The code of the row that [[isNull]] was asked of last, whose key is not null. */
  def code(row: InternalRow): Long

  /** Whether the key is a column of texts that are compared byte by byte. */
  def isText: Boolean = false

  /** Whether nulls of the column may have a key; else their rows are left out before `codes`. */
  def readsNulls: Boolean

  /** What turns values of the key into codes: the column itself, unless the key is computed from it. */
  def ofValues: PlainColumn

  /** Writes `codes(p)` for each of the first `count` positions `p`, and drops those whose key is null.
    *
    * @return
    *   number of positions kept
    */
  def codes(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Int
}

/** A key that is a column. There is one small class per physical type, so that the loop over a batch contains no type test. */
sealed abstract class PlainColumn(ordinal: Int) extends KeyColumn(ordinal) {
  final override def isNull(row: InternalRow): Boolean = row.isNullAt(ordinal)
  final override def readsNulls: Boolean = false
  final override def ofValues: PlainColumn = this

  final override def codes(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Int = {
    write(vector, positions, count, codes)
    count
  }

  /** Writes `codes(p)` for each of the first `count` positions `p`, none of which is null. */
  protected def write(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Unit
}

/** A column of floating-point values. */
sealed abstract class FloatingColumn(ordinal: Int) extends PlainColumn(ordinal)

/** A column whose values are objects in generated code. */
sealed abstract class ObjectColumn(ordinal: Int) extends PlainColumn(ordinal) {

  /** The code of a value, which is not null. */
  def codeOf(value: AnyRef): Long
}

private[exec] final class BooleanColumn(ordinal: Int) extends PlainColumn(ordinal) {
  def code(row: InternalRow): Long = if (row.getBoolean(ordinal)) 1L else 0L
  def write(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Unit = {
    var i = 0
    while (i < count) { val p = positions(i); codes(p) = if (vector.getBoolean(p)) 1L else 0L; i += 1 }
  }
}

object KeyColumn {

  /** The readers of keys over `output`. Every key must be a [[io.aqeplugin.observe.JoinKey]]. */
  private[exec] def of(keys: Seq[Expression], output: Seq[Attribute]): Array[KeyColumn] = keys.map { key =>
    val column = JoinKey.columnOf(key)
    val ordinal = output.indexWhere(_.exprId == column.exprId)
    require(ordinal >= 0, s"key ${key.sql} is not among ${output.map(_.sql).mkString(", ")}")
    key match {
      case _: Attribute => KeyColumn(ordinal, output(ordinal).dataType)
      case computed     =>
        // A column that has no null further up may have nulls here.
        val here = computed.transform { case _: Attribute => output(ordinal) }
        ComputedColumn(ordinal, here, readsNulls = !JoinKey.isNullOfNull(here))
    }
  }.toArray

  /** The reader of a column whose type has a [[io.aqeplugin.observe.KeyKind]]. */
  def apply(ordinal: Int, dataType: DataType): PlainColumn = dataType match {
    case ByteType                                                 => new ByteColumn(ordinal)
    case ShortType                                                => new ShortColumn(ordinal)
    case IntegerType | DateType | _: YearMonthIntervalType        => new IntColumn(ordinal)
    case LongType | TimestampType | TimestampNTZType              => new LongColumn(ordinal)
    case _: DayTimeIntervalType                                   => new LongColumn(ordinal)
    case BooleanType                                              => new BooleanColumn(ordinal)
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS => new ShortDecimalColumn(ordinal, d)
    case d: DecimalType                                           => new WideDecimalColumn(ordinal, d)
    case FloatType                                                => new FloatColumn(ordinal)
    case DoubleType                                               => new DoubleColumn(ordinal)
    case BinaryType                                               => new BinaryColumn(ordinal)
    case s: StringType if SparkBridge.isComparedByBytes(s)        => new StringColumn(ordinal)
    case s: StringType                                            => new CollatedColumn(ordinal, s.collationId)
    case time if KeyKind.isTime(time)                             => new LongColumn(ordinal)
    case other => throw new IllegalArgumentException(s"no key codes for ${other.sql}; KeyKind.of should have rejected it")
  }

  // The loops below are the per-row code of the probe side: while loops over arrays, no allocation.

  private final class ByteColumn(ordinal: Int) extends PlainColumn(ordinal) {
    def code(row: InternalRow): Long = row.getByte(ordinal).toLong
    def write(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Unit = {
      var i = 0
      while (i < count) { val p = positions(i); codes(p) = vector.getByte(p).toLong; i += 1 }
    }
  }

  private final class ShortColumn(ordinal: Int) extends PlainColumn(ordinal) {
    def code(row: InternalRow): Long = row.getShort(ordinal).toLong
    def write(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Unit = {
      var i = 0
      while (i < count) { val p = positions(i); codes(p) = vector.getShort(p).toLong; i += 1 }
    }
  }

  private final class IntColumn(ordinal: Int) extends PlainColumn(ordinal) {
    def code(row: InternalRow): Long = row.getInt(ordinal).toLong
    def write(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Unit = {
      var i = 0
      while (i < count) { val p = positions(i); codes(p) = vector.getInt(p).toLong; i += 1 }
    }
  }

  private final class LongColumn(ordinal: Int) extends PlainColumn(ordinal) {
    def code(row: InternalRow): Long = row.getLong(ordinal)
    def write(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Unit = {
      var i = 0
      while (i < count) { val p = positions(i); codes(p) = vector.getLong(p); i += 1 }
    }
  }

  private final class ShortDecimalColumn(ordinal: Int, decimal: DecimalType) extends ObjectColumn(ordinal) {
    def code(row: InternalRow): Long = row.getDecimal(ordinal, decimal.precision, decimal.scale).toUnscaledLong
    def codeOf(value: AnyRef): Long = value.asInstanceOf[Decimal].toUnscaledLong
    def write(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Unit = {
      var i = 0
      while (i < count) {
        val p = positions(i)
        codes(p) = vector.getDecimal(p, decimal.precision, decimal.scale).toUnscaledLong
        i += 1
      }
    }
  }

  private final class WideDecimalColumn(ordinal: Int, decimal: DecimalType) extends ObjectColumn(ordinal) {
    private def hash(value: Decimal): Long = KeyHasher.hashUnscaled(value.toJavaBigDecimal.unscaledValue.toByteArray)
    def code(row: InternalRow): Long = hash(row.getDecimal(ordinal, decimal.precision, decimal.scale))
    def codeOf(value: AnyRef): Long = hash(value.asInstanceOf[Decimal])
    def write(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Unit = {
      var i = 0
      while (i < count) { val p = positions(i); codes(p) = hash(vector.getDecimal(p, decimal.precision, decimal.scale)); i += 1 }
    }
  }

  private final class StringColumn(ordinal: Int) extends ObjectColumn(ordinal) {
    override def isText: Boolean = true
    def code(row: InternalRow): Long = KeyHasher.hashUtf8(row.getUTF8String(ordinal))
    def codeOf(value: AnyRef): Long = KeyHasher.hashUtf8(value.asInstanceOf[UTF8String])
    def write(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Unit = {
      var i = 0
      while (i < count) { val p = positions(i); codes(p) = KeyHasher.hashUtf8(vector.getUTF8String(p)); i += 1 }
    }
  }

  private final class FloatColumn(ordinal: Int) extends FloatingColumn(ordinal) {
    def code(row: InternalRow): Long = KeyHasher.floatingCode(row.getFloat(ordinal).toDouble)
    def write(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Unit = {
      var i = 0
      while (i < count) { val p = positions(i); codes(p) = KeyHasher.floatingCode(vector.getFloat(p).toDouble); i += 1 }
    }
  }

  private final class DoubleColumn(ordinal: Int) extends FloatingColumn(ordinal) {
    def code(row: InternalRow): Long = KeyHasher.floatingCode(row.getDouble(ordinal))
    def write(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Unit = {
      var i = 0
      while (i < count) { val p = positions(i); codes(p) = KeyHasher.floatingCode(vector.getDouble(p)); i += 1 }
    }
  }

  private final class BinaryColumn(ordinal: Int) extends ObjectColumn(ordinal) {
    def code(row: InternalRow): Long = KeyHasher.hashBinary(row.getBinary(ordinal))
    def codeOf(value: AnyRef): Long = KeyHasher.hashBinary(value.asInstanceOf[Array[Byte]])
    def write(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Unit = vector match {
      // Spark's own vectors copy a binary, and give a string of the same bytes without a copy.
      case writable: WritableColumnVector =>
        var i = 0
        while (i < count) { val p = positions(i); codes(p) = KeyHasher.hashUtf8(writable.getUTF8String(p)); i += 1 }
      case other =>
        var i = 0
        while (i < count) { val p = positions(i); codes(p) = KeyHasher.hashBinary(other.getBinary(p)); i += 1 }
    }
  }

  private final class CollatedColumn(ordinal: Int, collation: Int) extends ObjectColumn(ordinal) {
    def code(row: InternalRow): Long = collated(row.getUTF8String(ordinal))
    def codeOf(value: AnyRef): Long = collated(value.asInstanceOf[UTF8String])
    private def collated(text: UTF8String): Long = KeyHasher.hashBinary(CollationFactory.getCollationKeyBytes(text, collation))
    def write(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Unit = {
      var i = 0
      while (i < count) { val p = positions(i); codes(p) = collated(vector.getUTF8String(p)); i += 1 }
    }
  }
}
