package io.aqeplugin.metrics

import com.codahale.metrics.{Counter, Gauge, Metric, MetricRegistry}

/** Metrics in Spark's metrics system that share one description. A released name never changes its meaning.
  *
  * @param name
  *   the documented name; the varying part of a family is in `<>`
  * @param doc
  *   one line for users
  */
sealed abstract class MetricFamily(val name: String, val kind: String, val unit: String, val doc: String) {

  /** Each metric with its full name. */
  def metrics: Seq[(String, Metric)]
}

final class CounterMetric private (fullName: String, unit: String, doc: String, counter: Counter)
    extends MetricFamily(fullName, "counter", unit, doc) {
  def this(fullName: String, unit: String, doc: String) = this(fullName, unit, doc, new Counter())

  /** The same count under another name. */
  def named(otherName: String, otherDoc: String): CounterMetric = new CounterMetric(otherName, unit, otherDoc, counter)

  def add(count: Long): Unit = counter.inc(count)
  def count: Long = counter.getCount
  override def metrics: Seq[(String, Counter)] = Seq(fullName -> counter)
}

/** One counter for each of `values`, which are fixed in advance. Any other value is not counted.
  *
  * @param prefix
  *   the beginning of the names, including the dot
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
