package io.aqeplugin.exec

import org.apache.spark.SparkContext

import io.aqeplugin.metrics.Faults
import io.aqeplugin.observe.QueryStates

/** Records filter builds that failed: each one is counted, also for its query, and logged. The query continues without the filter. */
object BuildFaults {
  def note(sparkContext: SparkContext, executionId: Option[Long], joinId: String, error: Throwable): Unit =
    if (!sparkContext.isStopped) {
      executionId.flatMap(QueryStates.get).foreach(_.errors.increment())
      Faults.note("filter build", s"join $joinId continues without its filter", error)
    }
}
