package io.aqeplugin.exec

import org.apache.spark.sql.execution.metric.SQLMetric

/** SQL metrics of one filter in one place. */
final case class FilterCounters(rowsIn: SQLMetric, rowsOut: SQLMetric, rowsUnchecked: SQLMetric, faults: SQLMetric)

/** SQL metrics of a scan's filter node as a whole. */
final case class NodeCounters(rowsIn: SQLMetric, rowsOut: SQLMetric)
