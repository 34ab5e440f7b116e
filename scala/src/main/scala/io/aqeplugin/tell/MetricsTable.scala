package io.aqeplugin.tell

import com.codahale.metrics.{Counter, Gauge, Metric}
import org.apache.spark.sql.Row
import org.apache.spark.sql.types.{LongType, StringType, StructType}

/** `aqe_metrics()`: one row for each metric of the driver, see [[DecisionMetrics]], with its name in Spark's metrics system. */
object MetricsTable extends DriverTable("aqe_metrics", "one row for each metric of the plugin, counted since the application started") {

  override protected lazy val columnTypes: StructType = new StructType()
    .add("name", StringType, nullable = false, "as in Spark's metrics system")
    .add("value", LongType, nullable = false, "the value since the application started")
    .add("unit", StringType, nullable = false, "the unit of the value")

  override protected def latest: Seq[Row] =
    DecisionMetrics.All.flatMap(family => family.metrics.flatMap { case (name, metric) => row(name, metric, family.unit) })

  private def row(name: String, metric: Metric, unit: String): Option[Row] = {
    val value = metric match {
      case counter: Counter => Some(counter.getCount)
      case gauge: Gauge[_]  => Option(gauge.getValue).collect { case number: Number => number.longValue }
      case _                => None
    }
    value.map(Row(name, _, unit))
  }
}
