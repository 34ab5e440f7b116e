package org.apache.spark.sql.aqeplugin

import scala.reflect.ClassTag

import org.apache.spark.{SparkConf, SparkContext, SparkThrowable}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.{DeterministicLevel, RDD}
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.exchange.{ShuffleExchangeExec, ShuffleExchangeLike}
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.apache.spark.sql.internal.{SQLConf, StaticSQLConf}
import org.apache.spark.sql.types.StringType
import org.apache.spark.util.Utils

/** The few members of Spark that are private to its own packages. Nothing here decides anything. */
object SparkBridge {

  /** A broadcast whose value the driver does not keep a second time as an object. */
  def broadcast[T: ClassTag](sparkContext: SparkContext, value: T): Broadcast[T] =
    sparkContext.broadcastInternal(value, serializedOnly = true)

  /** Whether a job ended because somebody cancelled it. */
  def isCancellation(error: Throwable): Boolean = error match {
    case _: InterruptedException => true
    case spark: SparkThrowable   => spark.getCondition == "SPARK_JOB_CANCELLED"
    case other                   => Option(other.getCause).exists(isCancellation)
  }

  def cancelJobsWithTag(sparkContext: SparkContext, tag: String): Unit = sparkContext.cancelJobsWithTag(tag)

  /** Whether an RDD gives the same rows in the same order whenever it is computed. */
  def isDeterminate(rdd: RDD[_]): Boolean = rdd.outputDeterministicLevel == DeterministicLevel.DETERMINATE

  /** Whether a task of the shuffle's map side that is run again may give other rows. */
  def isIndeterminate(shuffle: ShuffleExchangeLike): Boolean = shuffle match {
    case exchange: ShuffleExchangeExec => exchange.shuffleDependency.rdd.outputDeterministicLevel == DeterministicLevel.INDETERMINATE
    case _                             => true
  }

  /** Changes the conf of a running context; what sessions take from it at their start they see, what was read before they do not. */
  def setConf(sparkContext: SparkContext, key: String, value: String): Unit = {
    val _ = sparkContext.conf.set(key, value)
  }

  def post(sparkContext: SparkContext, event: SparkListenerEvent): Unit = sparkContext.listenerBus.post(event)

  /** A listener on the queue that the UI is filled from. */
  def addStatusListener(sparkContext: SparkContext, listener: SparkListener): Unit = sparkContext.listenerBus.addToStatusQueue(listener)

  /** How many executions the SQL tab keeps. */
  def retainedExecutions(conf: SparkConf): Int = conf.get(StaticSQLConf.UI_RETAINED_EXECUTIONS)

  /** Whether equal strings of this type have equal bytes. */
  def isComparedByBytes(string: StringType): Boolean = string.supportsBinaryEquality

  /** Waits until all listeners have seen all events posted so far. */
  def drainEvents(sparkContext: SparkContext, timeoutMillis: Long): Unit = sparkContext.listenerBus.waitUntilEmpty(timeoutMillis)

  /** The query that ended, when the event was not read back from a log. */
  def queryOf(end: SparkListenerSQLExecutionEnd): Option[QueryExecution] = Option(end.qe)

  /** The text of the query that the calling thread plans, as Spark itself writes it into its events: redacted and cut, or the place in the code. */
  def description(sparkContext: SparkContext, conf: SQLConf): String = {
    val maxLength = sparkContext.conf.get(StaticSQLConf.SQL_EVENT_TRUNCATE_LENGTH)
    Option(sparkContext.getLocalProperty(SparkContext.SPARK_JOB_DESCRIPTION))
      .filter(_ => maxLength > 0)
      .map(text => Utils.redact(conf.stringRedactionPattern, text).take(maxLength))
      .getOrElse(sparkContext.getCallSite().shortForm)
  }

  def jobGroup(sparkContext: SparkContext): Option[String] = Option(sparkContext.getLocalProperty(SparkContext.SPARK_JOB_GROUP_ID))

  def sessionId(session: SparkSession): Option[String] = session match {
    case classic: ClassicSession => Some(classic.sessionUUID)
    case _                       => None
  }

  def durationMillis(end: SparkListenerSQLExecutionEnd): Long = end.duration / 1000000L
}
