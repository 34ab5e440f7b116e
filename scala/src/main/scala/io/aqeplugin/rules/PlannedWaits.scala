package io.aqeplugin.rules

import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.observe.ByIdentity

/** How long the scans of one plan wait, by the joins of the plan that were judged so far. */
private[rules] final class PlannedWaits {
  private val millis = ByIdentity.empty[SparkPlan, Double]

  /** How long all of these scans wait in any case; 0 without a scan. */
  def ofAll(scans: Seq[SparkPlan]): Double = scans.map(millis.getOrElse(_, 0.0)).minOption.getOrElse(0.0)

  def add(scans: Seq[SparkPlan], waitMillis: Double): Unit =
    scans.foreach(scan => millis.update(scan, math.max(waitMillis, millis.getOrElse(scan, 0.0))))
}
