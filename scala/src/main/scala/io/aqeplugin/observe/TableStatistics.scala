package io.aqeplugin.observe

import org.apache.spark.sql.execution.FileSourceScanExec

/** What a table's own files say of it, without a job.
  *
  * @param rows
  *   rows of the whole table
  * @param ranges
  *   smallest and largest value of integer and date columns, by column name
  */
final case class TableFacts(rows: Long, ranges: Map[String, (Long, Long)])

/** Where such facts come from. */
trait TableStatistics {

  /** Facts of the scanned table; `None` when its files have none or are not worth opening. */
  def of(scan: FileSourceScanExec): Option[TableFacts]
}

object TableStatistics {

  /** Nothing is known of any table. */
  val None: TableStatistics = _ => scala.None
}
