package io.aqeplugin.storage

import java.util.Locale

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants.MICROS_PER_DAY
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.observe.Wholes

/** Where the values of a column lie of which a key is computed that lies in a range.
  *
  * Ranges are of key codes: numbers, days of dates, microseconds of timestamps. A time zone is less than a day from UTC, whatever its clocks do; so
  * the times of a date lie within the day before and the day after it in UTC, and a truncated time is less than two days and its unit from the time.
  */
private[storage] object ColumnRange {

  /** The range that has every value of the column whose key is in one of `ranges`; none for a key of another form, and where an end is no
    * value of the column's type.
    *
    * @param key
    *   an expression of one column
    */
  def of(key: Expression, ranges: Seq[(Long, Long)]): Option[(Long, Long)] =
    if (ranges.isEmpty) None
    else
      ends(key)(BigInt(ranges.map(_._1).min), BigInt(ranges.map(_._2).max)).collect {
        case (low, high) if low.isValidLong && high.isValidLong => (low.toLong, high.toLong)
      }

  private def ends(key: Expression)(low: BigInt, high: BigInt): Option[(BigInt, BigInt)] = key match {
    case Cast(column: Attribute, DateType, _, _) if Wholes.areTimestamps(column.dataType) =>
      Some(((low - 1) * MICROS_PER_DAY, (high + 2) * MICROS_PER_DAY))
    case TruncTimestamp(Literal(format: UTF8String, _), column: Attribute, _) if Wholes.areTimestamps(column.dataType) =>
      daysOf(format).map(days => (low - 2 * MICROS_PER_DAY, high + (days + 2) * MICROS_PER_DAY))
    case TruncDate(_: Attribute, Literal(format: UTF8String, _)) => daysOf(format).map(days => (low, high + days))
    case Add(column: Attribute, Number(by), _)                   => shifted(column, low - by, high - by)
    case Subtract(column: Attribute, Number(by), _)              => shifted(column, low + by, high + by)
    case _                                                       => None
  }

  /** A sum that wraps around has one value of the column for each of its own. */
  private def shifted(column: Attribute, low: BigInt, high: BigInt): Option[(BigInt, BigInt)] = column.dataType match {
    case IntegerType if low.isValidInt && high.isValidInt => Some((low, high))
    case LongType                                         => Some((low, high))
    case _                                                => None
  }

  private object Number {
    def unapply(literal: Expression): Option[BigInt] = literal match {
      case Literal(value: Int, IntegerType) => Some(BigInt(value))
      case Literal(value: Long, LongType)   => Some(BigInt(value))
      case _                                => None
    }
  }

  /** The most days in the unit to which a time is truncated, by the names that Spark has for units. */
  private def daysOf(format: UTF8String): Option[Int] = format.toString.toUpperCase(Locale.ROOT) match {
    case "MICROSECOND" | "MILLISECOND" | "SECOND" | "MINUTE" | "HOUR" | "DAY" | "DD" => Some(1)
    case "WEEK"                                                                      => Some(7)
    case "MONTH" | "MM" | "MON"                                                      => Some(31)
    case "QUARTER"                                                                   => Some(92)
    case "YEAR" | "YYYY" | "YY"                                                      => Some(366)
    case _                                                                           => None
  }
}
