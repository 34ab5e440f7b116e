package io.aqeplugin.observe

import org.apache.spark.sql.execution.FileSourceScanExec

/** What is known of a table without a job.
  *
  * @param rows
  *   rows of the whole table
  * @param ranges
  *   smallest and largest value of integer and date columns, by column name
  * @param distinct
  *   distinct values of columns, by column name
  */
final case class TableFacts(rows: Long, ranges: Map[String, (Long, Long)], distinct: Map[String, Long] = Map.empty)

/** A source of table facts. */
trait TableStatistics {

  /** Facts of the scanned table; `None` when nothing is known. */
  def of(scan: FileSourceScanExec): Option[TableFacts]
}

object TableStatistics {

  /** Has no facts about any table. */
  val None: TableStatistics = _ => scala.None
}
