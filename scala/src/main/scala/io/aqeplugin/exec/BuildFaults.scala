package io.aqeplugin.exec

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging

import io.aqeplugin.observe.QueryStates
import io.aqeplugin.tell.Faults

/** Notes filter builds that failed: the query goes on without the filter, the fault is counted, in the query's own account too, and warned of. */
object BuildFaults extends Logging {
  def note(sparkContext: SparkContext, executionId: Option[Long], joinId: String, error: Throwable): Unit =
    if (!sparkContext.isStopped) {
      executionId.flatMap(QueryStates.get).foreach(_.errors.increment())
      Faults.note("filter build", s"join $joinId goes on without its filter", error)
    }
}
