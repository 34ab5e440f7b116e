package io.aqeplugin.tell

import com.codahale.metrics.{Counter, MetricRegistry}

import io.aqeplugin.decide.Strategy

/** Counters of this driver since it started, in Spark's own metrics system under `plugin.io.aqeplugin.AqePlugin`. */
object DecisionMetrics {
  val errors = new Counter()
  val filtersPlanned = new Counter()
  val filtersApplied = new Counter()
  val filtersNotApplied = new Counter()
  val rowsIn = new Counter()
  val rowsOut = new Counter()
  val filterBytes = new Counter()
  val buildMillis = new Counter()
  val waitMillis = new Counter()
  val ruleMillis = new Counter()
  val decisions: Map[Strategy, Counter] = Strategy.All.map(s => s -> new Counter()).toMap

  /** Name and counter of all of them; the names are stable. */
  val all: Seq[(String, Counter)] = Seq(
    "errors" -> errors,
    "filters.planned" -> filtersPlanned,
    "filters.applied" -> filtersApplied,
    "filters.notApplied" -> filtersNotApplied,
    "filters.rowsIn" -> rowsIn,
    "filters.rowsOut" -> rowsOut,
    "filters.bytes" -> filterBytes,
    "filters.buildMillis" -> buildMillis,
    "filters.waitMillis" -> waitMillis,
    "rules.millis" -> ruleMillis
  ) ++ decisions.toSeq.sortBy(_._1.name).map { case (strategy, counter) => s"decisions.${strategy.name}" -> counter }

  def register(registry: MetricRegistry): Unit = all.foreach { case (name, counter) => registry.register(name, counter) }
}
