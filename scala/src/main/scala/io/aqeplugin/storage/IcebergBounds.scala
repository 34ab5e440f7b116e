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

import io.aqeplugin.metrics.Survivable
import io.aqeplugin.observe.Wholes

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

  /** @param columns
    *   names by the ids of their fields, as the scan reads them
    */
  private final case class Version(table: String, snapshot: Long, columns: Map[Int, String])

  private type Reading = Awaited[Map[String, (Long, Long)]]

  private val known: JavaMap[Version, Reading] = LruMap.of(MaxTables)

  /** Starts to read the manifests of the snapshot that a scan reads, unless that has begun. */
  def begin(table: Table, scan: Scan): Unit = { val _ = reading(table, scan) }

  /** By column name, in the units of Spark's type; of columns whose type has an order of whole numbers. */
  def of(table: Table, scan: Scan): Map[String, (Long, Long)] =
    reading(table, scan).fold(Map.empty[String, (Long, Long)])(_.orWhenLate(Map.empty))

  private def reading(table: Table, scan: Scan): Option[Reading] =
    for {
      snapshot <- IcebergSnapshot.of(table) if snapshot.number("total-data-files").exists(_ <= MaxFiles)
      columns <- Try(orderedColumns(scan)).toOption if columns.nonEmpty
      version <- Try(Version(locationOf(snapshot.table), snapshot.id, columns.map { case (id, (name, _)) => id -> name })).toOption
    } yield {
      val fresh = new Reading(MaxMillis)
      val earlier = Option(known.putIfAbsent(version, fresh))
      if (earlier.isEmpty) start(fresh, version, snapshot, columns.map { case (id, (_, kind)) => id -> kind })
      earlier.getOrElse(fresh)
    }

  private def start(reading: Reading, version: Version, snapshot: IcebergSnapshot, types: Map[Int, AnyRef]): Unit = {
    def end(found: Map[Int, (Long, Long)]): Unit = reading.end(found.map { case (id, range) => version.columns(id) -> range })
    def fail(error: Throwable): Unit = {
      val _ = known.remove(version, reading)
      FooterStatistics.noteUnreadable(Seq(version.table), "its columns are estimated without their ranges", error)
      end(Map.empty)
    }
    try {
      val reads = new UserReads(UserGroupInformation.getCurrentUser, new Configuration(false), FooterThreads.pool)
      val _ = reads.async(withLoaderOf(snapshot.table)(ranges(snapshot, types))).whenComplete((found, error) =>
        if (Option(error).isEmpty) end(found) else fail(error)
      )
    } catch {
      // A driver may not be able to start another thread.
      case error @ (Survivable(_) | (_: OutOfMemoryError)) => fail(error)
    }
  }

  private def locationOf(table: AnyRef): String = IcebergMembers.publicly(table, "Table", "location").toString

  /** Names and Iceberg's types by the ids of fields. */
  private def orderedColumns(scan: Scan): Map[Int, (String, AnyRef)] =
    IcebergColumns.fields(scan).map { field =>
      IcebergMembers.of(
        field,
        "fieldId"
      ).asInstanceOf[Int] -> ((IcebergMembers.of(field, "name").toString, IcebergMembers.of(field, "type")))
    }.filter { case (_, (_, kind)) => Ordered(kind.toString) }.toMap

  /** As in Spark, dates count days and times microseconds. */
  private val Ordered = Set("int", "long", "date", "timestamp", "timestamptz")

  private def ranges(snapshot: IcebergSnapshot, types: Map[Int, AnyRef]): Map[Int, (Long, Long)] = {
    val conversions = IcebergMembers.interface(snapshot.table, "types.Conversions")
      .getMethod("fromByteBuffer", IcebergMembers.interface(snapshot.table, "types.Type"), classOf[ByteBuffer])
    def bounds(file: AnyRef, method: String): Map[Int, Long] = IcebergMembers.publicly(file, "ContentFile", method) match {
      case bytes: JavaMap[_, _] =>
        bytes.asScala.toSeq.collect { case (id: Integer, bound: ByteBuffer) if types.contains(id) => (id.toInt, bound) }
          .flatMap { case (id, bound) => Wholes.of(conversions.invoke(None.orNull, types(id), bound)).map(id -> _) }.toMap
      case _ => Map.empty
    }
    def counts(file: AnyRef, method: String): Map[Any, Any] = IcebergMembers.publicly(file, "ContentFile", method) match {
      case counted: JavaMap[_, _] => counted.asScala.toMap
      case _                      => Map.empty
    }
    val found = mutable.Map.empty[Int, (Long, Long)]
    val unknown = mutable.Set.empty[Int]
    snapshot.eachFile { file =>
      val (lower, upper) = (bounds(file, "lowerBounds"), bounds(file, "upperBounds"))
      val (values, nulls) = (counts(file, "valueCounts"), counts(file, "nullValueCounts"))
      types.keys.foreach { id =>
        (lower.get(id), upper.get(id)) match {
          case (Some(low), Some(high)) =>
            found.updateWith(id)(range => Some(range.fold((low, high)) { case (min, max) => (math.min(min, low), math.max(max, high)) }))
          // A file of nulls has no bounds.
          case _ => if (!values.get(id).exists(nulls.get(id).contains)) unknown += id
        }
      }
    }
    found.toMap -- unknown
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
