package io.aqeplugin.observe

import org.apache.spark.sql.execution.FileSourceScanExec

/** What a table's files say about it, read without a job.
  *
  * @param rows
  *   rows of the whole table
  * @param ranges
  *   smallest and largest value of integer and date columns, by column name
  */
final case class TableFacts(rows: Long, ranges: Map[String, (Long, Long)])

/** A source of table facts. */
trait TableStatistics {

  /** Facts of the scanned table; `None` when its files have none or are too many to open. */
  def of(scan: FileSourceScanExec): Option[TableFacts]
}

object TableStatistics {

  /** Has no facts about any table. */
  val None: TableStatistics = _ => scala.None
}
