package io.aqeplugin.exec

import com.codahale.metrics.MetricRegistry

import io.aqeplugin.metrics.{CounterMetric, MetricFamily}

/** What an executor counts in Spark's own metrics system, while its tasks run, under `plugin.io.aqeplugin.AqePlugin`. In local mode the driver is
  * the executor too, so no name here is one of [[io.aqeplugin.tell.DecisionMetrics]].
  */
object ExecutorMetrics {
  val rowsIn = new CounterMetric("executor.filters.rowsIn", "rows", "rows that filters checked, a row once for each filter that saw it")
  val rowsOut = new CounterMetric("executor.filters.rowsOut", "rows", "rows that they let through")
  val batchesNotChecked =
    new CounterMetric("executor.filters.batchesNotChecked", "batches", "batches that passed a filter while it rested")
  val rests =
    new CounterMetric("executor.filters.rests", "rests", "times that a task put a filter to rest, because it had removed too little")
  val decoded = new CounterMetric("executor.filters.decoded", "filters", "filters made ready from their broadcast bytes")
  val decodedBytes = new CounterMetric("executor.filters.decodedBytes", "bytes", "memory of those filters, added up")
  val decodeFailures =
    new CounterMetric("executor.filters.decodeFailures", "filters", "broadcasts that were no filter: their tasks let every row pass")

  /** Everything that is counted, in the order of the documentation. */
  val All: Seq[MetricFamily] = Seq(rowsIn, rowsOut, batchesNotChecked, rests, decoded, decodedBytes, decodeFailures)

  def register(registry: MetricRegistry): Unit = MetricFamily.register(All, registry)
}
