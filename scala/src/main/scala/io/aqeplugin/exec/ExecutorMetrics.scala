package io.aqeplugin.exec

import io.aqeplugin.metrics.{Faults, MetricList}

/** The counters of an executor in Spark's own metrics system, under `plugin.io.aqeplugin.AqePlugin`. In local mode the driver is also the
  * executor, so no name here is one of [[io.aqeplugin.tell.DecisionMetrics]].
  */
object ExecutorMetrics extends MetricList {
  val rowsIn = counter("executor.filters.rowsIn", "rows")("rows that filters checked, counted once per filter")
  val rowsOut = counter("executor.filters.rowsOut", "rows")("checked rows that passed")
  val rowsUnchecked = counter("executor.filters.rowsUnchecked", "rows")(
    "rows that passed unchecked: their filter was paused, or could not compute their key"
  )
  val pauses = counter("executor.filters.pauses", "pauses")("times that a task paused a filter because it removed too few rows")
  val decoded = counter("executor.filters.decoded", "filters")("filters decoded from their broadcast bytes")
  val decodedBytes = counter("executor.filters.decodedBytes", "bytes")("total memory of the decoded filters")
  val decodeFailures = counter("executor.filters.decodeFailures", "filters")(
    "broadcasts that could not be decoded as a filter, so every row passed"
  )
  val errors = define(Faults.counter.named(
    "executor.errors",
    "faults of the plugin in tasks, which went on without what had failed; in local mode all faults"
  ))
}
