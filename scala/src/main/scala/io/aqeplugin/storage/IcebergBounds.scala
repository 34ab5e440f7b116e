package io.aqeplugin.storage

import java.nio.ByteBuffer
import java.util.{Map => JavaMap}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.metrics.Survivable

/** Smallest and largest values of an Iceberg table's columns, from its manifests, for estimates: no row is left out because of them.
  *
  * As with [[FooterStatistics]], other threads read, no query waits longer than [[MaxMillis]] after they began, and what comes too late serves the next
  * query on the same snapshot. The manifests of a table of more than [[MaxFiles]] files are not read. A column of which one file has values and no
  * bounds has no range.
  */
private[storage] object IcebergBounds {
  private val MaxFiles = 10000L
  private val MaxMillis = 300L
  private val MaxTables = 256

  /** Of about so many files, the bounds of each are kept. */
  private val FilesKept = 32

  /** @param columns
    *   names by the ids of their fields, as the scan reads them
    */
  private final case class Version(table: String, snapshot: Long, columns: Map[Int, String])

  /** @param files
    *   some, evenly spread
    */
  private final case class Found(ranges: Map[String, (Long, Long)], files: Seq[FileRanges])

  private val NothingFound = Found(Map.empty, Nil)

  private type Reading = Awaited[Found]

  private val known: JavaMap[Version, Reading] = LruMap.of(MaxTables)

  /** Starts to read the manifests of the snapshot that a scan reads, unless that has begun. */
  def begin(table: Table, scan: Scan): Unit = { val _ = reading(table, scan) }

  /** By column name, in the units of Spark's type; of columns whose type has an order of whole numbers. */
  def of(table: Table, scan: Scan): Map[String, (Long, Long)] =
    reading(table, scan).fold(NothingFound)(_.orWhenLate(NothingFound)).ranges

  /** Some files with their bounds, likewise; none while the manifests are being read. */
  def sample(table: Table, scan: Scan): Option[Seq[FileRanges]] = reading(table, scan).flatMap(_.now).map(_.files)

  private def reading(table: Table, scan: Scan): Option[Reading] =
    for {
      snapshot <- IcebergSnapshot.of(table) if snapshot.number("total-data-files").exists(_ <= MaxFiles)
      columns <- Try(knownColumns(scan)).toOption if columns.nonEmpty
      version <- Try(Version(locationOf(snapshot.table), snapshot.id, columns.map { case (id, (name, _)) => id -> name })).toOption
    } yield {
      val fresh = new Reading(MaxMillis)
      val earlier = Option(known.putIfAbsent(version, fresh))
      if (earlier.isEmpty) start(fresh, version, snapshot, columns.map { case (id, (_, code)) => id -> code })
      earlier.getOrElse(fresh)
    }

  private def start(reading: Reading, version: Version, snapshot: IcebergSnapshot, codes: Map[Int, Code]): Unit = {
    def fail(error: Throwable): Unit = {
      val _ = known.remove(version, reading)
      FooterStatistics.noteUnreadable(Seq(version.table), "its columns are estimated without their ranges", error)
      reading.end(NothingFound)
    }
    try {
      val reads = new UserReads(UserGroupInformation.getCurrentUser, new Configuration(false), FooterThreads.pool)
      val _ = reads.async(withLoaderOf(snapshot.table)(found(snapshot, version.columns, codes))).whenComplete((found, error) =>
        if (Option(error).isEmpty) reading.end(found) else fail(error)
      )
    } catch {
      // A driver may not be able to start another thread.
      case error @ (Survivable(_) | (_: OutOfMemoryError)) => fail(error)
    }
  }

  private def locationOf(table: AnyRef): String = IcebergMembers.publicly(table, "Table", "location").toString

  /** A whole number, or the beginning of a text. */
  private type Code = ByteBuffer => Option[Any]

  private val beginning: Code = bound => {
    val text = new Array[Byte](bound.remaining)
    val _ = bound.get(text)
    Some(TextBounds.beginning(text))
  }

  /** By the ids of fields, their names and what their bounds are. */
  private def knownColumns(scan: Scan): Map[Int, (String, Code)] =
    IcebergColumns.fields(scan).flatMap { field =>
      val known = if (IcebergColumns.typeOf(field) == "string") Some(beginning) else IcebergWholes.codeOf(IcebergColumns.typeOf(field))
      known.zip(Some(IcebergColumns.idOf(field))).collect { case (code, id: Integer) =>
        id.toInt -> ((IcebergColumns.nameOf(field), code))
      }
    }.toMap

  private def found(snapshot: IcebergSnapshot, columns: Map[Int, String], codes: Map[Int, Code]): Found = {
    def bounds(file: AnyRef, method: String): Map[Int, Any] = IcebergMembers.publicly(file, "ContentFile", method) match {
      case bytes: JavaMap[_, _] =>
        bytes.asScala.toSeq.collect { case (id: Integer, bound: ByteBuffer) if codes.contains(id) => (id.toInt, bound) }
          .flatMap { case (id, bound) => codes(id)(bound.duplicate()).map(id -> _) }.toMap
      case _ => Map.empty
    }
    def counts(file: AnyRef, method: String): Map[Any, Any] = IcebergMembers.publicly(file, "ContentFile", method) match {
      case counted: JavaMap[_, _] => counted.asScala.toMap
      case _                      => Map.empty
    }
    val found = mutable.Map.empty[Int, (Long, Long)]
    val unknown = mutable.Set.empty[Int]
    val kept = Seq.newBuilder[FileRanges]
    val every = snapshot.number("total-data-files").fold(1L)(_ / FilesKept).max(1L)
    var at = 0L // once per file
    snapshot.eachFile { file =>
      val (lower, upper) = (bounds(file, "lowerBounds"), bounds(file, "upperBounds"))
      val (values, nulls) = (counts(file, "valueCounts"), counts(file, "nullValueCounts"))
      if (at % every == 0) kept += rangesOf(file, columns, lower, upper)
      at += 1
      codes.keys.foreach { id =>
        (lower.get(id), upper.get(id)) match {
          case (Some(low: Long), Some(high: Long)) =>
            found.updateWith(id)(range => Some(range.fold((low, high)) { case (min, max) => (math.min(min, low), math.max(max, high)) }))
          // A file of nulls has no bounds.
          case _ => if (!values.get(id).exists(nulls.get(id).contains)) unknown += id
        }
      }
    }
    Found((found.toMap -- unknown).map { case (id, range) => columns(id) -> range }, kept.result())
  }

  private def rangesOf(file: AnyRef, columns: Map[Int, String], lower: Map[Int, Any], upper: Map[Int, Any]): FileRanges = {
    val bytes = IcebergMembers.publicly(file, "ContentFile", "fileSizeInBytes") match {
      case size: java.lang.Long => size.longValue
      case _                    => 0L
    }
    val known = lower.collect { case (id, low) if upper.contains(id) => (columns(id), low, upper(id)) }
    FileRanges(
      IcebergMembers.publicly(file, "ContentFile", "location").toString,
      bytes,
      known.collect { case (column, low: Long, high: Long) => column -> ((low, high)) }.toMap,
      known.collect { case (column, low: UTF8String, high: UTF8String) => column -> ((low, high)) }.toMap
    )
  }

  /** Iceberg loads file systems by the loader of the thread, which serves other tables too. */
  private def withLoaderOf[A](table: AnyRef)(read: => A): A = {
    val thread = Thread.currentThread()
    val before = thread.getContextClassLoader
    thread.setContextClassLoader(IcebergMembers.loaderOf(table))
    try read
    finally thread.setContextClassLoader(before)
  }
}
