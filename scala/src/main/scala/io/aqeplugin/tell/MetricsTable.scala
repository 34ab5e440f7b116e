package io.aqeplugin.tell

import com.codahale.metrics.{Counter, Gauge, Metric}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types.{LongType, StringType, StructType}

/** `aqe_metrics()`: one row for each metric of the driver, see [[DecisionMetrics]], with its name in Spark's metrics system.
  *
  * Planning a query on it waits until all earlier queries are counted, so that a notebook sees what it has just run, also in
  * `aqe_decisions()`.
  */
object MetricsTable extends DriverTable("aqe_metrics", "one row for each metric of the plugin, counted since the application started") {

  override protected lazy val columnTypes: StructType = new StructType()
    .add("name", StringType, nullable = false, "as in Spark's metrics system")
    .add("value", LongType, nullable = false, "the value since the application started")
    .add("unit", StringType, nullable = false, "the unit of the value")

  /** Longer than a listener needs except in a flood of events. */
  private val WaitMillis = 10000L

  override protected def latest: Seq[Row] = {
    SparkSession.getActiveSession.foreach(session => EndsSeen.await(session.sparkContext, WaitMillis))
    DecisionMetrics.All.flatMap(family => family.metrics.flatMap { case (name, metric) => row(name, metric, family.unit) })
  }

  private def row(name: String, metric: Metric, unit: String): Option[Row] = {
    val value = metric match {
      case counter: Counter => Some(counter.getCount)
      case gauge: Gauge[_]  => Option(gauge.getValue).collect { case number: Number => number.longValue }
      case _                => None
    }
    value.map(Row(name, _, unit))
  }
}
