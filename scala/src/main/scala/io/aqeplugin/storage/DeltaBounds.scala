package io.aqeplugin.storage

import java.security.PrivilegedExceptionAction
import java.util.{Collections, Map => JavaMap, WeakHashMap}
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._

import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.sql.{Column, DataFrame, Dataset, Row, SparkSession}
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.{FileSourceScanExec, SQLExecution}
import org.apache.spark.sql.functions.{col, from_json}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.exec.DaemonThreads
import io.aqeplugin.metrics.Survivable
import io.aqeplugin.observe.Wholes

/** Bounds of one column in a file; an end that is not known is open.
  *
  * @param isEmpty
  *   no row has a value
  */
private[storage] final case class FileBounds[A](low: Option[A], high: Option[A], isEmpty: Boolean)

/** Bounds of columns in the files of one version of a Delta table, from the statistics of Delta's log, which are right, missing or wide.
  *
  * The checksum that Delta keeps beside its last commit has them for up to 50 files, and is read already. For more, a job reads those of a column. Another
  * thread reads, once for as long as Delta keeps the version: what a query does not wait for serves the next one.
  */
private[storage] object DeltaBounds {

  /** By the path of a file as the log has it. */
  type Files = Map[String, FileBounds[Any]]

  private type Reading = Awaited[Files]

  private val known: JavaMap[AnyRef, Map[(String, DataType), Reading]] =
    Collections.synchronizedMap(new WeakHashMap[AnyRef, Map[(String, DataType), Reading]])

  private lazy val readers = DaemonThreads.pool("aqe-plugin-delta-bounds", 2, mostWaiting = 64)

  /** Delta's own switch, for tables whose statistics nobody trusts. */
  private val SkippingKey = "spark.databricks.delta.stats.skipping"

  /** Whole numbers by the codes of keys, or texts.
    *
    * @param snapshot
    *   Delta's own version of the table that `scan` reads
    * @param maxMillis
    *   no query waits longer since the reading began
    * @param mayRun
    *   whether a job may read the log
    * @return
    *   none if a job would have to, the bounds are late, or this version of Delta has no such statistics
    */
  def of(scan: FileSourceScanExec, snapshot: AnyRef, column: Attribute, maxMillis: => Long, mayRun: => Boolean): Option[Files] = {
    val question = (column.name, column.dataType)
    def begun: Option[Reading] = {
      val checksum = inChecksum(snapshot)
      checksum.orElse(if (mayRun && !DeltaScan.tableFiles(scan).exists(_ > MaxFiles)) inLog(snapshot) else None).map { log =>
        val reading = new Reading(maxMillis)
        note(snapshot)(_.updated(question, reading))
        start(reading, scan, isShort = checksum.isDefined)(read(snapshot, log(), column))(note(snapshot)(_.removed(question)))
        reading
      }
    }
    if (!SQLConf.get.getConfString(SkippingKey, "true").toBoolean) None
    else Option(known.get(snapshot)).flatMap(_.get(question)).orElse(begun).map(_.orWhenLate(Map.empty))
  }

  /** The driver keeps the bounds of so many files, 200 bytes each by estimate. */
  private val MaxFiles = 200000L

  private def note(snapshot: AnyRef)(change: Map[(String, DataType), Reading] => Map[(String, DataType), Reading]): Unit = {
    val _ = known.compute(snapshot, (_, before) => change(Option(before).getOrElse(Map.empty)))
  }

  /** What fails is forgotten: the next query tries again. What takes no job is read at once: others may read for long. */
  private def start(reading: Reading, scan: FileSourceScanExec, isShort: Boolean)(read: => Files)(forget: => Unit): Unit = {
    def work(asUser: PrivilegedExceptionAction[Files], user: UserGroupInformation): Unit =
      try reading.end(user.doAs(asUser))
      catch { case error @ (Survivable(_) | (_: OutOfMemoryError)) => fail(error) }
    def fail(error: Throwable): Unit = {
      forget
      if (!SparkBridge.isCancellation(error))
        FooterStatistics.noteUnreadable(scan.relation.location.rootPaths.map(_.toString), "no files are left out by keys", error)
      reading.end(Map.empty)
    }
    try {
      val user = UserGroupInformation.getCurrentUser
      if (isShort) work(() => read, user)
      else { val _ = SQLExecution.withThreadLocalCaptured(scan.session, readers)(work(() => read, user)) }
    } catch {
      // A driver may not be able to start another thread.
      case error @ (Survivable(_) | (_: OutOfMemoryError)) => fail(error)
    }
  }

  private type Log = () => DataFrame

  /** Delta plans the reading of its log when it is asked for it, which takes a while. */
  private def inLog(snapshot: AnyRef): Option[Log] =
    Option.when(snapshot.getClass.getMethods.exists(_.getName == "withStats")) { () =>
      DeltaScan.valueOf(snapshot, "withStats").collect { case log: Dataset[_] => log.toDF() }
        .getOrElse(throw new UnsupportedOperationException(s"withStats of ${snapshot.getClass.getName}"))
    }

  private def inChecksum(snapshot: AnyRef): Option[Log] =
    for {
      checksum <- DeltaScan.valueOf(snapshot, "checksumOpt").collect { case Some(checksum: AnyRef) => checksum }
      files <- DeltaScan.valueOf(checksum, "allFiles").collect { case Some(files: collection.Seq[_]) => files.toSeq }
      statistics <- DeltaScan.valueOf(snapshot, "statsSchema").collect { case schema: StructType => schema }
    } yield () => {
      val rows = files.collect { case file: AnyRef => Row(text(file, "path"), text(file, "stats")) }
      // Delta parses them so.
      SparkSession.active.createDataFrame(rows.asJava, StructType.fromDDL("path STRING, stats STRING"))
        .withColumn("stats", from_json(col("stats"), statistics))
    }

  private def text(file: AnyRef, member: String): AnyRef = DeltaScan.valueOf(file, member).orNull

  private def read(snapshot: AnyRef, log: DataFrame, column: Attribute): Files = {
    val statistic = snapshot.getClass.getMethod("getStatsColumnOrNullLiteral", classOf[String], classOf[Seq[_]])
    val own = Seq("minValues", "maxValues", "nullCount").map(_ -> Seq(column.name))
    val columns = (own :+ ("numRecords" -> Nil)).map { case (name, path) => statistic.invoke(snapshot, name, path) }
    val frame = log.select(col("path") +: columns.collect { case found: Column => found }: _*)
    val types = frame.schema.map(_.dataType)
    val rows = SQLExecution.withNewExecutionId(frame.queryExecution, Some(s"bounds of ${column.name}"))(
      frame.queryExecution.executedPlan.executeCollect()
    )
    rows.map { row =>
      def value(at: Int): Option[Any] = Option(row.get(at, types(at)))
      // One that is missing has another type.
      def bound(at: Int): Option[Any] = if (types(at) == column.dataType) value(at).flatMap(code) else None
      val isEmpty = value(3).exists(value(4).contains)
      row.getUTF8String(0).toString ->
        FileBounds(bound(1).map(lower(_, column.dataType)), bound(2).map(upper(_, column.dataType)), isEmpty)
    }.toMap
  }

  private def code(value: Any): Option[Any] = value match {
    case decimal: Decimal => Option.when(decimal.precision <= Decimal.MAX_LONG_DIGITS)(decimal.toUnscaledLong)
    case text: UTF8String => Some(text.clone())
    case other            => Wholes.of(other)
  }

  /** Delta writes times with the zone of the session, whose seconds it leaves out: old clocks had them, in Liberia until 1972. */
  private val ZoneMicros = TimeUnit.MINUTES.toMicros(1)

  private def lower(bound: Any, dataType: DataType): Any = (bound, dataType) match {
    case (micros: Long, TimestampType) => math.max(micros, Long.MinValue + ZoneMicros) - ZoneMicros
    case (text: UTF8String, _)         => UTF8String.fromString(ordered(text))
    case _                             => bound
  }

  private def upper(bound: Any, dataType: DataType): Any = (bound, dataType) match {
    case (micros: Long, TimestampType) => math.min(micros, Long.MaxValue - ZoneMicros) + ZoneMicros
    case (text: UTF8String, _)         =>
      val begin = ordered(text)
      if (begin == text.toString) text
      else UTF8String.fromBytes(UTF8String.fromString(withoutHalf(begin)).getBytes :+ TextBounds.AfterAll)
    case _ => bound
  }

  /** Versions of Delta before 3.3 cut a character beyond 16 bits in half, which Spark then wrote as a question mark. */
  private def withoutHalf(begin: String): String = begin.stripSuffix("?")

  /** The beginning of a text whose characters have one order in bytes and in UTF-16, and stand for themselves: where a value was not UTF-8, or was cut, the
    * statistics have greater ones.
    */
  private def ordered(text: UTF8String): String = text.toString.takeWhile(_ < Character.MIN_SURROGATE)
}
