package io.aqeplugin.exec

import org.apache.spark.SparkContext

import io.aqeplugin.metrics.Faults
import io.aqeplugin.observe.QueryStates

/** Notes filter builds that failed: the query goes on without the filter, the fault is counted, in the query's own account too, and warned of. */
object BuildFaults {
  def note(sparkContext: SparkContext, executionId: Option[Long], joinId: String, error: Throwable): Unit =
    if (!sparkContext.isStopped) {
      executionId.flatMap(QueryStates.get).foreach(_.errors.increment())
      Faults.note("filter build", s"join $joinId goes on without its filter", error)
    }
}
