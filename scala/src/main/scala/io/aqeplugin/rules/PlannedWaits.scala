package io.aqeplugin.rules

import java.util.IdentityHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.SparkPlan

/** How long the scans of one plan wait, by the joins of the plan that were judged so far. */
private[rules] final class PlannedWaits {
  private val millis = new IdentityHashMap[SparkPlan, Double]().asScala

  /** How long all of these scans wait in any case; 0 without a scan. */
  def ofAll(scans: Seq[SparkPlan]): Double = scans.map(millis.getOrElse(_, 0.0)).minOption.getOrElse(0.0)

  def add(scans: Seq[SparkPlan], waitMillis: Double): Unit =
    scans.foreach(scan => millis.update(scan, math.max(waitMillis, millis.getOrElse(scan, 0.0))))
}
