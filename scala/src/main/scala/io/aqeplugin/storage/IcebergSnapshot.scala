package io.aqeplugin.storage

import java.util.{Collection => JavaCollection, Map => JavaMap}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.{Scan, SupportsReportStatistics}
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.decide.{EstimateSource, RowEstimate}
import io.aqeplugin.observe.TableFacts

/** The snapshot of an Iceberg table that a query reads.
  *
  * @param table
  *   Iceberg's own table
  */
private[storage] final case class IcebergSnapshot(table: AnyRef, id: Long, summary: JavaMap[_, _]) {
  def number(key: String): Option[Long] = Option(summary.get(key)).flatMap(_.toString.toLongOption)

  /** Gives `read` each of its data files with the statistics of the fields of some ids. Reads manifests. */
  def eachFile(fields: Int => Boolean)(read: AnyRef => Unit): Unit = {
    import IcebergMembers._
    val scans = interface(table, "Scan")
    val scan = interface(table, "TableScan").getMethod("useSnapshot", java.lang.Long.TYPE)
      .invoke(publicly(table, "Table", "newScan"), java.lang.Long.valueOf(id))
    val names = IcebergColumns.of(publicly(scan, "Scan", "schema")).map(one => IcebergColumns.idOf(one) -> IcebergColumns.nameOf(one))
      .collect { case (field: Integer, name) if fields(field) => name }
    val counted = scans.getMethod("includeColumnStats", classOf[JavaCollection[_]]).invoke(scan, names.asJavaCollection)
    eachTask(counted)(task => read(publicly(task, "ContentScanTask", "file")))
  }
}

private[storage] object IcebergSnapshot {
  private val SparkTable = IcebergMembers.Package + "spark.source.SparkTable"

  /** The snapshot that time travel or a branch names, or the table's last one; none for a table of another kind, or without a snapshot. */
  def of(table: Table): Option[IcebergSnapshot] =
    if (table.getClass.getName != SparkTable) None
    else
      Try {
        import IcebergMembers.{interface, publicly}
        val iceberg = IcebergMembers.of(table, "table")
        val tables = interface(table, "Table")
        val snapshot = (Option(IcebergMembers.of(table, "snapshotId")), Option(IcebergMembers.of(table, "branch"))) match {
          case (Some(id), _)        => tables.getMethod("snapshot", java.lang.Long.TYPE).invoke(iceberg, id)
          case (None, Some(branch)) => tables.getMethod("snapshot", classOf[String]).invoke(iceberg, branch)
          case _                    => publicly(iceberg, "Table", "currentSnapshot")
        }
        (iceberg, publicly(snapshot, "Snapshot", "snapshotId"), publicly(snapshot, "Snapshot", "summary"))
      }.toOption.collect { case (iceberg, id: java.lang.Long, summary: JavaMap[_, _]) => IcebergSnapshot(iceberg, id, summary) }

  /** Rows, bytes, ranges and distinct values of what a scan reads; none for a table of another kind, without a snapshot, or whose rows equality
    * deletes remove.
    */
  def facts(table: Table, scan: Scan): Option[TableFacts] =
    for {
      snapshot <- of(table)
      records <- snapshot.number("total-records")
      if !snapshot.number("total-equality-deletes").exists(_ > 0)
    } yield {
      val rows = math.max(0L, records - snapshot.number("total-position-deletes").getOrElse(0L))
      TableFacts(
        Some(RowEstimate(rows, EstimateSource.IcebergSnapshot)),
        bytes = snapshot.number("total-files-size"),
        ranges = IcebergBounds.of(table, scan),
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
}
