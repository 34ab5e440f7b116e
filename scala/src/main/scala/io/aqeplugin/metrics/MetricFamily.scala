package io.aqeplugin.metrics

import com.codahale.metrics.{Counter, Gauge, Metric, MetricRegistry}

/** What is registered in Spark's metrics system under one description. A released name never changes its meaning.
  *
  * @param name
  *   as documented: a family's varying part stands in `<>`
  * @param doc
  *   one line, for a user
  */
sealed abstract class MetricFamily(val name: String, val kind: String, val unit: String, val doc: String) {

  /** Each metric under its full name. */
  def metrics: Seq[(String, Metric)]
}

final class CounterMetric(fullName: String, unit: String, doc: String) extends MetricFamily(fullName, "counter", unit, doc) {
  private val counter = new Counter()

  def add(count: Long): Unit = counter.inc(count)
  def count: Long = counter.getCount
  override def metrics: Seq[(String, Counter)] = Seq(fullName -> counter)
}

/** One counter for each of `values`, which are known beforehand: what is not among them is not counted.
  *
  * @param prefix
  *   what the names begin with, up to and with the dot
  */
final class CounterFamily[A](prefix: String, what: String, values: Seq[A], nameOf: A => String, unit: String, doc: String)
    extends MetricFamily(s"$prefix<$what>", "counter", unit, doc) {
  private val counters = values.map(value => value -> new Counter()).toMap

  def add(value: A): Unit = counters.get(value).foreach(_.inc())
  def count(value: A): Long = counters.get(value).fold(0L)(_.getCount)
  override def metrics: Seq[(String, Counter)] = values.flatMap(value => counters.get(value).map(s"$prefix${nameOf(value)}" -> _))
}

final class GaugeMetric(fullName: String, unit: String, doc: String, read: () => Long) extends MetricFamily(fullName, "gauge", unit, doc) {
  private val gauge: Gauge[java.lang.Long] = () => read()

  override def metrics: Seq[(String, Metric)] = Seq(fullName -> gauge)
}

object MetricFamily {
  def register(families: Seq[MetricFamily], registry: MetricRegistry): Unit =
    families.flatMap(_.metrics).foreach { case (name, metric) => registry.register(name, metric) }
}
