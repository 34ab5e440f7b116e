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
    // Nobody waits for the texts alone.
    reading(table, scan, _.exists(_._2.isDefined)).fold(NothingFound)(_.orWhenLate(NothingFound)).ranges

  /** Some files with their bounds, likewise; none while the manifests are being read. */
  def sample(table: Table, scan: Scan): Option[Seq[FileRanges]] = reading(table, scan).flatMap(_.now).map(_.files)

  private def reading(table: Table, scan: Scan, isOf: Iterable[(String, Option[Whole])] => Boolean = _.nonEmpty): Option[Reading] =
    for {
      snapshot <- IcebergSnapshot.of(table) if snapshot.number("total-data-files").exists(_ <= MaxFiles)
      columns <- Try(knownColumns(scan)).toOption if isOf(columns.values)
      version <- Try(Version(locationOf(snapshot.table), snapshot.id, columns.map { case (id, (name, _)) => id -> name })).toOption
    } yield {
      val fresh = new Reading(MaxMillis)
      val earlier = Option(known.putIfAbsent(version, fresh))
      if (earlier.isEmpty) start(fresh, version, snapshot, columns.collect { case (id, (_, Some(whole))) => id -> whole })
      earlier.getOrElse(fresh)
    }

  private def start(reading: Reading, version: Version, snapshot: IcebergSnapshot, wholes: Map[Int, Whole]): Unit = {
    def fail(error: Throwable): Unit = {
      val _ = known.remove(version, reading)
      FooterStatistics.noteUnreadable(Seq(version.table), "its columns are estimated without their ranges", error)
      reading.end(NothingFound)
    }
    try {
      val reads = new UserReads(UserGroupInformation.getCurrentUser, new Configuration(false), FooterThreads.pool)
      val _ = reads.async(withLoaderOf(snapshot.table)(found(snapshot, version.columns, wholes))).whenComplete((found, error) =>
        if (Option(error).isEmpty) reading.end(found) else fail(error)
      )
    } catch {
      // A driver may not be able to start another thread.
      case error @ (Survivable(_) | (_: OutOfMemoryError)) => fail(error)
    }
  }

  private def locationOf(table: AnyRef): String = IcebergMembers.publicly(table, "Table", "location").toString

  private type Whole = ByteBuffer => Option[Long]

  /** By the ids of fields, their names, and how bounds that are whole numbers are read; those of the others are texts. */
  private def knownColumns(scan: Scan): Map[Int, (String, Option[Whole])] =
    IcebergColumns.fields(scan).flatMap { field =>
      val whole = IcebergWholes.codeOf(IcebergColumns.typeOf(field))
      Some(IcebergColumns.idOf(field)).filter(_ => whole.isDefined || IcebergColumns.typeOf(field) == "string").collect {
        case id: Integer =>
          id.toInt -> ((IcebergColumns.nameOf(field), whole))
      }
    }.toMap

  private def found(snapshot: IcebergSnapshot, columns: Map[Int, String], wholes: Map[Int, Whole]): Found = {
    def bounds(file: AnyRef, method: String): Map[Int, ByteBuffer] = IcebergMembers.publicly(file, "ContentFile", method) match {
      case bytes: JavaMap[_, _] =>
        bytes.asScala.collect { case (id: Integer, bound: ByteBuffer) if columns.contains(id) => (id.toInt, bound) }.toMap
      case _ => Map.empty
    }
    def numbers(bounds: Map[Int, ByteBuffer]): Map[Int, Long] =
      bounds.flatMap { case (id, bound) => wholes.get(id).flatMap(_(bound.duplicate())).map(id -> _) }
    def texts(bounds: Map[Int, ByteBuffer]): Map[Int, UTF8String] =
      bounds.collect { case (id, bound) if !wholes.contains(id) => id -> beginning(bound.duplicate()) }
    def counts(file: AnyRef, method: String): Map[Any, Any] = IcebergMembers.publicly(file, "ContentFile", method) match {
      case counted: JavaMap[_, _] => counted.asScala.toMap
      case _                      => Map.empty
    }
    val found = mutable.Map.empty[Int, (Long, Long)]
    val unknown = mutable.Set.empty[Int]
    val kept = Seq.newBuilder[FileRanges]
    val every = snapshot.number("total-data-files").fold(1L)(_ / FilesKept).max(1L)
    var at = 0L // once per file
    snapshot.eachFile(columns.contains) { file =>
      val (lower, upper) = (bounds(file, "lowerBounds"), bounds(file, "upperBounds"))
      val (least, greatest) = (numbers(lower), numbers(upper))
      val (values, nulls) = (counts(file, "valueCounts"), counts(file, "nullValueCounts"))
      if (at % every == 0) kept += rangesOf(file, named(columns, least, greatest), named(columns, texts(lower), texts(upper)))
      at += 1
      wholes.keys.foreach { id =>
        (least.get(id), greatest.get(id)) match {
          case (Some(low), Some(high)) =>
            found.updateWith(id)(range => Some(range.fold((low, high)) { case (min, max) => (math.min(min, low), math.max(max, high)) }))
          // A file of nulls has no bounds.
          case _ => if (!values.get(id).exists(nulls.get(id).contains)) unknown += id
        }
      }
    }
    Found((found.toMap -- unknown).map { case (id, range) => columns(id) -> range }, kept.result())
  }

  private def beginning(bound: ByteBuffer): UTF8String = {
    val text = new Array[Byte](bound.remaining)
    val _ = bound.get(text)
    TextBounds.beginning(text)
  }

  private def named[A](columns: Map[Int, String], lower: Map[Int, A], upper: Map[Int, A]): Map[String, (A, A)] =
    lower.collect { case (id, low) if upper.contains(id) => columns(id) -> ((low, upper(id))) }

  private def rangesOf(file: AnyRef, wholes: Map[String, (Long, Long)], texts: Map[String, (UTF8String, UTF8String)]): FileRanges = {
    val bytes = IcebergMembers.publicly(file, "ContentFile", "fileSizeInBytes") match {
      case size: java.lang.Long => size.longValue
      case _                    => 0L
    }
    FileRanges(IcebergMembers.publicly(file, "ContentFile", "location").toString, bytes, wholes, texts)
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
