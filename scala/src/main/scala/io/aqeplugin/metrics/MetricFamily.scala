package io.aqeplugin.metrics

import com.codahale.metrics.{Counter, Gauge, Metric, MetricRegistry}

import io.aqeplugin.conf.Named

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

/** One counter for each of `names`, which are fixed in advance. Any other name is not counted.
  *
  * @param prefix
  *   the beginning of the names, including the dot
  */
final class CounterFamily(prefix: String, what: String, names: Seq[String], unit: String, doc: String)
    extends MetricFamily(s"$prefix<$what>", "counter", unit, doc) {
  private val counters = names.map(name => name -> new Counter()).toMap

  def add(name: String): Unit = counters.get(name).foreach(_.inc())
  def add(value: Named): Unit = add(value.name)
  override def metrics: Seq[(String, Counter)] = names.map(name => s"$prefix$name" -> counters(name))
}

final class GaugeMetric(fullName: String, unit: String, doc: String, read: () => Long) extends MetricFamily(fullName, "gauge", unit, doc) {
  private val gauge: Gauge[java.lang.Long] = () => read()

  override def metrics: Seq[(String, Metric)] = Seq(fullName -> gauge)
}

/** The metrics of one process, listed by their definitions: the order of the documentation. */
abstract class MetricList {
  private val defined = Seq.newBuilder[MetricFamily]

  protected final def define[A <: MetricFamily](family: A): A = {
    defined += family
    family
  }

  protected final def counter(name: String, unit: String)(doc: String): CounterMetric = define(new CounterMetric(name, unit, doc))

  /** One counter for each of these names. */
  protected final def family(prefix: String, what: String, names: Seq[Named], unit: String)(doc: String): CounterFamily =
    define(new CounterFamily(prefix, what, names.map(_.name), unit, doc))

  final lazy val All: Seq[MetricFamily] = defined.result()

  final def register(registry: MetricRegistry): Unit =
    All.flatMap(_.metrics).foreach { case (name, metric) => registry.register(name, metric) }
}
