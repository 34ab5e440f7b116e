package io.aqeplugin.storage

import java.util.{List => JavaList}

import scala.jdk.CollectionConverters._

import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.catalog.SupportsRead
import org.apache.spark.sql.connector.read.{Scan, SupportsPushDownRequiredColumns}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.aqeplugin.exec.{ColumnKeys, DataFiles, LeftOut, UnreadFiles}
import io.aqeplugin.metrics.Survivable
import io.aqeplugin.observe.TableStatistics

/** Delta's second connector, which reads tables where `spark.databricks.delta.v2.enableMode` is `STRICT`. A second scan of the same version, with the keys
  * as conditions, takes the place of the first in this one node of the plan: Delta chooses its files by a job over the log. Partition columns are left to
  * [[BatchScanKeys]].
  */
private[storage] object DeltaV2Keys extends KeyedFormat {
  private val ScanClass = "io.delta.spark.internal.v2.read.DeltaV2Scan"
  private val TableClass = "io.delta.spark.internal.v2.catalog.DeltaV2Table"
  private val earlier = new PerRelation[(Seq[Expression], String, ColumnKeys), Scan]("deltaFiles")

  override def narrowed(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Option[SparkPlan] = scan match {
    case batch: BatchScanExec if isRead(batch) && DeltaKeys.isTrusted(keys) && !BatchScanKeys.filters(batch, keys.column) =>
      try
        for {
          files <- Some(filesOf(batch.scan)) if DeltaKeys.isLarge(files.bytes, files.count, batch.conf)
          before = conditions(batch)
          fresh <- earlier.of(batch, keys.column, (before, keys.column.name, keys.built))(built(batch, keys, before))
          if filesOf(fresh).count < files.count
        } yield {
          val left = DataFiles(files.count - filesOf(fresh).count, files.bytes - filesOf(fresh).bytes)
          LeftOut.counted(
            batch,
            KeyedFormat.linked(batch, ThisSparkLine.withSource(batch, fresh)),
            Some(_ => Some(UnreadFiles(left, files.count)))
          )
        }
      catch {
        case Survivable(error) =>
          FooterStatistics.noteUnreadable(Seq(batch.table.name), "no files are left out by keys", error)
          None
      }
    case _ => None
  }

  /** Not for a command, which writes again what its scan reads: its table is another one. Columns that are read by their ids may have any name in a
    * file.
    */
  private def isRead(batch: BatchScanExec): Boolean =
    batch.scan.getClass.getName == ScanClass && batch.table.getClass.getName == TableClass && batch.ordering.isEmpty &&
      batch.table.properties.get("delta.columnMapping.mode") != "id"

  /** What the scan's files fulfil. */
  private def conditions(batch: BatchScanExec): Seq[Expression] =
    Seq("partitionFilters", "dataFilters").flatMap(IcebergMembers.privately(batch.scan, _) match {
      case conditions: Array[Expression] => conditions.toSeq
      case _                             => Nil
    })

  private def built(batch: BatchScanExec, keys: KnownKeys, before: Seq[Expression]): Option[Scan] = {
    val more = keys.isListed(keys.inListMaxKeys).toSeq ++ keys.isInRanges
    (batch.table, IcebergMembers.withinPackage(batch.scan, "getOptions")) match {
      case (table: SupportsRead, options: CaseInsensitiveStringMap) if more.nonEmpty =>
        val made = table.newScanBuilder(options)
        made match {
          case builder: SupportsPushDownCatalystFilters with SupportsPushDownRequiredColumns =>
            val _ = builder.pushFilters(before ++ more)
            builder.pruneColumns(batch.scan.readSchema)
            // Of both of its types, a Spark line may call the one or the other.
            Some(made.build()).filter(_.readSchema == batch.scan.readSchema)
          case _ => None
        }
      case _ => None
    }
  }

  private def filesOf(scan: Scan): DataFiles = IcebergMembers.withinPackage(scan, "getSelectedFiles") match {
    case files: JavaList[_] =>
      val bytes = files.asScala.collect { case file: AnyRef => IcebergMembers.of(file, "getSize") }.collect { case size: java.lang.Long =>
        size.longValue
      }
      DataFiles(files.size.toLong, bytes.sum)
    case _ => DataFiles(0, 0)
  }
}
