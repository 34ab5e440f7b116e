package io.aqeplugin.storage

import java.util.{Map => JavaMap}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.{Scan, SupportsReportStatistics}
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.decide.{EstimateSource, RowEstimate}
import io.aqeplugin.observe.TableFacts

/** The row counts of an Iceberg table, and the distinct values of its columns. It is known by name: the plugin does not depend on Iceberg. */
private[storage] object IcebergSnapshot {
  private val SparkTable = "org.apache.iceberg.spark.source.SparkTable"
  private val Records = "total-records"
  private val Deleted = "total-position-deletes"

  /** Rows of the snapshot that is read, which time travel or a branch may name; none for a table of another kind, without a snapshot, or whose rows equality deletes remove. */
  def facts(table: Table, scan: Scan): Option[TableFacts] =
    if (table.getClass.getName != SparkTable) None
    else
      for {
        summary <- summaryOf(table)
        records <- number(summary, Records)
        if !number(summary, "total-equality-deletes").exists(_ > 0)
      } yield {
        val rows = math.max(0L, records - number(summary, Deleted).getOrElse(0L))
        TableFacts(
          Some(RowEstimate(rows, EstimateSource.IcebergSnapshot)),
          bytes = number(summary, "total-files-size"),
          distinct = distinctOf(scan)
        )
      }

  /** What `compute_table_stats` left of this snapshot; Iceberg reports it only to Spark's cost-based optimizer, by the names that columns have now. */
  private def distinctOf(scan: Scan): Map[String, Long] = scan match {
    case reporting: SupportsReportStatistics if SQLConf.get.cboEnabled =>
      Try(reporting.estimateStatistics().columnStats().asScala.collect {
        case (column, counted) if column.fieldNames.length == 1 && counted.distinctCount.isPresent =>
          column.fieldNames.head -> counted.distinctCount.getAsLong
      }.filter { case (column, _) => IcebergColumns.hasOneMeaning(scan, column) }.toMap).getOrElse(Map.empty)
    case _ => Map.empty
  }

  private def summaryOf(table: Table): Option[JavaMap[_, _]] = {
    // The classes that implement these interfaces are not public.
    def valueOf(owner: AnyRef, interface: Class[_], method: String): AnyRef = interface.getMethod(method).invoke(owner)
    Try {
      val loader = table.getClass.getClassLoader
      val iceberg = valueOf(table, table.getClass, "table")
      val tables = Class.forName("org.apache.iceberg.Table", true, loader)
      val snapshot = (Option(valueOf(table, table.getClass, "snapshotId")), Option(valueOf(table, table.getClass, "branch"))) match {
        case (Some(id), _)        => tables.getMethod("snapshot", java.lang.Long.TYPE).invoke(iceberg, id)
        case (None, Some(branch)) => tables.getMethod("snapshot", classOf[String]).invoke(iceberg, branch)
        case _                    => valueOf(iceberg, tables, "currentSnapshot")
      }
      valueOf(snapshot, Class.forName("org.apache.iceberg.Snapshot", true, loader), "summary")
    }.toOption.collect { case summary: JavaMap[_, _] => summary }
  }

  private def number(summary: JavaMap[_, _], key: String): Option[Long] = Option(summary.get(key)).flatMap(_.toString.toLongOption)
}
