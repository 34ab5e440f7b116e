package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** Values that are whole numbers in Spark's rows, in their order. */
private[aqeplugin] object Wholes {

  def areNumbers(dataType: DataType): Boolean = KeyKind.of(dataType).contains(KeyKind.Integral)

  def areTimestamps(dataType: DataType): Boolean = KeyKind.of(dataType).contains(KeyKind.Timestamp)

  /** Whether all of them are numbers, dates or timestamps. */
  def areOrdered(dataType: DataType): Boolean = KeyKind.of(dataType).exists {
    case KeyKind.Integral | KeyKind.Date | KeyKind.Timestamp => true
    case _                                                   => false
  }

  def of(value: Any): Option[Long] = value match {
    case byte: Byte   => Some(byte.toLong)
    case short: Short => Some(short.toLong)
    case int: Int     => Some(int.toLong)
    case long: Long   => Some(long)
    case _            => None
  }
}

/** `lesser <= greater`, or `lesser < greater` if it is strict. */
private[aqeplugin] object Less {
  def unapply(comparison: Expression): Option[(Expression, Expression, Boolean)] = comparison match {
    case LessThan(left, right)           => Some((left, right, true))
    case LessThanOrEqual(left, right)    => Some((left, right, false))
    case GreaterThan(left, right)        => Some((right, left, true))
    case GreaterThanOrEqual(left, right) => Some((right, left, false))
    case _                               => None
  }
}
