package io.aqeplugin.storage

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.util.{DateTimeUtils, RebaseDateTime}
import org.apache.spark.sql.types.{DateType, TimestampType}

/** Values that Spark gives to a source. */
private[aqeplugin] object SourceLiterals {

  /** Whether a value has the same meaning for a source and in all of its files. Most sources get dates and timestamps as `java.sql` values,
    * with the midnights of the JVM's time zone, and files written with the Julian calendar read days before 1582-10-15 and times before
    * 1900 differently.
    */
  def isKept(literal: Literal): Boolean = (literal.dataType, literal.value) match {
    case (DateType, days: Int) =>
      days >= RebaseDateTime.lastSwitchGregorianDay && Try(
        DateTimeUtils.fromJavaDate(DateTimeUtils.toJavaDate(days))
      ).toOption.contains(days)
    case (TimestampType, micros: Long) =>
      micros >= RebaseDateTime.lastSwitchGregorianTs &&
      Try(DateTimeUtils.fromJavaTimestamp(DateTimeUtils.toJavaTimestamp(micros))).toOption.contains(micros)
    case _ => true
  }
}
