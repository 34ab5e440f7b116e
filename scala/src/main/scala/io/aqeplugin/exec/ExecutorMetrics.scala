package io.aqeplugin.exec

import com.codahale.metrics.MetricRegistry

import io.aqeplugin.metrics.{CounterMetric, Faults, MetricFamily}

/** The counters of an executor in Spark's own metrics system, under `plugin.io.aqeplugin.AqePlugin`. In local mode the driver is also the
  * executor, so no name here is one of [[io.aqeplugin.tell.DecisionMetrics]].
  */
object ExecutorMetrics {
  val rowsIn = new CounterMetric("executor.filters.rowsIn", "rows", "rows that filters checked, counted once per filter")
  val rowsOut = new CounterMetric("executor.filters.rowsOut", "rows", "checked rows that passed")
  val rowsUnchecked =
    new CounterMetric(
      "executor.filters.rowsUnchecked",
      "rows",
      "rows that passed unchecked: their filter was paused, or could not compute their key"
    )
  val pauses =
    new CounterMetric("executor.filters.pauses", "pauses", "times that a task paused a filter because it removed too few rows")
  val decoded = new CounterMetric("executor.filters.decoded", "filters", "filters decoded from their broadcast bytes")
  val decodedBytes = new CounterMetric("executor.filters.decodedBytes", "bytes", "total memory of the decoded filters")
  val decodeFailures =
    new CounterMetric("executor.filters.decodeFailures", "filters", "broadcasts that could not be decoded as a filter, so every row passed")

  val errors =
    Faults.counter.named(
      "executor.errors",
      "faults of the plugin in tasks, which went on without what had failed; in local mode all faults"
    )

  /** All counters, in the order of the documentation. */
  val All: Seq[MetricFamily] = Seq(rowsIn, rowsOut, rowsUnchecked, pauses, decoded, decodedBytes, decodeFailures, errors)

  def register(registry: MetricRegistry): Unit = MetricFamily.register(All, registry)
}
