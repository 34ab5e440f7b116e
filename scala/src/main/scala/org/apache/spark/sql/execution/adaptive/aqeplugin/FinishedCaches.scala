package org.apache.spark.sql.execution.adaptive.aqeplugin

import org.apache.spark.sql.execution.adaptive.TableCacheQueryStageExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec

/** Opens the result of a stage, which is private to AQE. */
object FinishedCaches {

  /** A finished stage with another scan of the table that it has loaded. */
  def reading(stage: TableCacheQueryStageExec, scan: InMemoryTableScanExec): TableCacheQueryStageExec = {
    val copy = stage.copy(plan = scan)
    copy.resultOption.set(stage.resultOption.get())
    copy
  }
}
