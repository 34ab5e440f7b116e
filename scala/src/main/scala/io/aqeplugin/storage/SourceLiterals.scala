package io.aqeplugin.storage

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.util.{DateTimeUtils, RebaseDateTime}
import org.apache.spark.sql.types.{DateType, StringType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String

/** Values that Spark gives to a source. */
private[aqeplugin] object SourceLiterals {

  /** Whether a value has the same meaning for a source and in all of its files. Most sources get dates and timestamps as `java.sql` values,
    * with the midnights of the JVM's time zone, and files written with the Julian calendar read days before 1582-10-15 and times before
    * 1900 differently. Texts they get as `String`, which has no bytes that are not UTF-8.
    */
  def isKept(literal: Literal): Boolean = (literal.dataType, literal.value) match {
    case (DateType, days: Int) =>
      days >= RebaseDateTime.lastSwitchGregorianDay && Try(
        DateTimeUtils.fromJavaDate(DateTimeUtils.toJavaDate(days))
      ).toOption.contains(days)
    case (TimestampType, micros: Long) =>
      micros >= RebaseDateTime.lastSwitchGregorianTs &&
      Try(DateTimeUtils.fromJavaTimestamp(DateTimeUtils.toJavaTimestamp(micros))).toOption.contains(micros)
    case (_: StringType, text: UTF8String) => UTF8String.fromString(text.toString) == text
    case _                                 => true
  }
}
