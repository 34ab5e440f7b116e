package io.aqeplugin.tell

import com.codahale.metrics.{Counter, MetricRegistry}

import io.aqeplugin.decide.{JoinDecision, ReasonCode, Strategy}
import io.aqeplugin.filters.FilterKind
import io.aqeplugin.metrics.{CounterFamily, CounterMetric, Faults, GaugeMetric, MetricFamily}
import io.aqeplugin.observe.{FilterOutcome, QueryStates}

/** What the driver counts in Spark's own metrics system, under `plugin.io.aqeplugin.AqePlugin`, since its JVM started: this file is the table of
  * its names, from which `docs/operations/metrics.md` is made. Executors count what [[io.aqeplugin.exec.ExecutorMetrics]] names.
  */
object DecisionMetrics {
  private val decisions =
    new CounterFamily[Strategy]("decisions.", "choice", Strategy.All, _.name, "joins", "joins decided, by what was decided")
  private val reasons =
    new CounterFamily[ReasonCode]("decisions.reason.", "code", ReasonCode.All, _.name, "joins", "joins decided, by why")
  private val filterReasons =
    new CounterFamily[ReasonCode](
      "filters.reason.",
      "code",
      ReasonCode.All,
      _.name,
      "joins",
      "joins decided, by why their build side's keys become a filter or do not"
    )
  private val waitsBegun = new CounterMetric("waits.begun", "joins", "joins whose probe side was held back")
  private val waitsDeclined = new CounterMetric("waits.declined", "joins", "joins whose probe side was not, although it could have been")
  private val filtersPlanned = new CounterMetric("filters.planned", "filters", "filters in the plans that ran, one per scan")
  private val filtersApplied = new CounterMetric("filters.applied", "filters", "those that their scan found when it ran")
  private val filtersNotApplied =
    new CounterMetric("filters.notApplied", "filters", "filters planned and not applied: each one is a fault")
  private val filtersPassedAll =
    new CounterFamily[ReasonCode](
      "filters.passedAll.",
      "code",
      ReasonCode.All,
      _.name,
      "filters",
      "filters that let every row pass because they could not be built, by why"
    )
  private val filtersOfKind =
    new CounterFamily[String]("filters.kind.", "kind", FilterKind.All.map(_.name), identity, "filters", "filters that were built, by kind")
  private val filtersSelfDisabled =
    new CounterMetric("filters.selfDisabled", "filters", "filters that rested in some task, because they had removed too little")
  private val rowsIn = new CounterMetric("filters.rowsIn", "rows", "rows that filters checked, in queries that have ended")
  private val rowsOut = new CounterMetric("filters.rowsOut", "rows", "rows that they let through")
  private val filterBytes = new CounterMetric("filters.bytes", "bytes", "memory of all filters that were built, added up")
  private val buildMillis = new CounterMetric("filters.buildMillis", "millis", "time that their builds took, added up")
  private val waitMillis =
    new CounterMetric("filters.waitMillis", "millis", "time that the starts of scans were held up for their filters, added up")
  private val queriesEnded = new CounterMetric("queries.ended", "queries", "queries that have ended and were planned with the plugin")
  private val queriesFailed =
    new CounterMetric("queries.failed", "queries", "those of them that failed or were cancelled, for whatever reason")
  private val queriesTracked =
    new GaugeMetric("queries.tracked", "queries", "queries that are remembered now, because they run", () => QueryStates.size.toLong)
  private val ruleMillis = new CounterMetric("rules.millis", "millis", "time spent in the plugin's own rules")

  /** Everything that is counted, in the order of the documentation. */
  val All: Seq[MetricFamily] = Seq(
    decisions,
    reasons,
    filterReasons,
    waitsBegun,
    waitsDeclined,
    filtersPlanned,
    filtersApplied,
    filtersNotApplied,
    filtersPassedAll,
    filtersOfKind,
    filtersSelfDisabled,
    rowsIn,
    rowsOut,
    filterBytes,
    buildMillis,
    waitMillis,
    queriesEnded,
    queriesFailed,
    queriesTracked,
    ruleMillis,
    Faults.counter
  )

  /** Name and counter of all that only ever grow. */
  def counters: Seq[(String, Counter)] = All.flatMap(_.metrics).collect { case (name, counter: Counter) => name -> counter }

  def register(registry: MetricRegistry): Unit = MetricFamily.register(All, registry)

  private[tell] def decided(decision: JoinDecision): Unit = {
    decisions.add(decision.choice)
    reasons.add(decision.reason.code)
    filterReasons.add(decision.filterReason.code)
    decision.facts.waiting.foreach(waiting => (if (waiting.waits) waitsBegun else waitsDeclined).add(1L))
  }

  private[tell] def ended(failed: Boolean, millisInRules: Long, outcomes: Seq[FilterOutcome]): Unit = {
    queriesEnded.add(1L)
    if (failed) queriesFailed.add(1L)
    ruleMillis.add(millisInRules)
    filtersPlanned.add(outcomes.size.toLong)
    outcomes.foreach { o =>
      (if (o.found) filtersApplied else filtersNotApplied).add(1L)
      o.reason.foreach(reason => filtersPassedAll.add(reason.code))
      filtersOfKind.add(o.kind)
      if (o.batchesSkipped > 0) filtersSelfDisabled.add(1L)
      rowsIn.add(o.rowsIn)
      rowsOut.add(o.rowsOut)
      filterBytes.add(o.filterBytes)
      buildMillis.add(o.buildMillis)
      waitMillis.add(o.waitMillis)
    }
  }
}
