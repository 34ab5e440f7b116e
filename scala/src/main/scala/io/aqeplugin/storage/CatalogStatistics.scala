package io.aqeplugin.storage

import scala.util.Try

import org.apache.spark.sql.catalyst.catalog.CatalogColumnStat
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.types._

import io.aqeplugin.decide.{EstimateSource, RowEstimate}
import io.aqeplugin.observe.TableFacts

/** What `ANALYZE TABLE` left in the catalog: rows, distinct values, smallest and largest values. It may be out of date, so it must decide
  * nothing but what is worth doing.
  */
object CatalogStatistics {

  /** Facts of the scanned table, of all its partitions; none for a table that is in no catalog or has not been analyzed. */
  def of(scan: FileSourceScanExec): Option[TableFacts] =
    for (table <- PartitionedTable.unpruned(scan); statistics <- table.stats) yield {
      val columns = statistics.colStats.toSeq.flatMap { case (name, column) => table.schema.find(_.name == name).map(_ -> column) }
      TableFacts(
        statistics.rowCount.map(rows => RowEstimate(rows.min(Long.MaxValue).toLong, EstimateSource.Catalog)),
        Some(statistics.sizeInBytes.min(Long.MaxValue).toLong).filter(_ > 0),
        columns.flatMap { case (field, column) => range(field, column).map(field.name -> _) }.toMap,
        columns.flatMap { case (field, column) => column.distinctCount.map(field.name -> _.min(Long.MaxValue).toLong) }.toMap,
        Some(statistics)
      )
    }

  private def range(field: StructField, column: CatalogColumnStat): Option[(Long, Long)] = {
    def value(text: Option[String]): Option[Long] =
      text.flatMap(found => Try(CatalogColumnStat.fromExternalString(found, field.name, field.dataType, column.version)).toOption).collect {
        case number: Byte  => number.toLong
        case number: Short => number.toLong
        case number: Int   => number.toLong
        case number: Long  => number
      }
    field.dataType match {
      case ByteType | ShortType | IntegerType | LongType | DateType => value(column.min).zip(value(column.max))
      case _                                                        => None
    }
  }
}
