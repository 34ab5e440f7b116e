package io.aqeplugin.tell

import com.codahale.metrics.{Counter, MetricRegistry}

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide.{JoinDecision, ReasonCode, ReasonTopic, Strategy}
import io.aqeplugin.filters.FilterKind
import io.aqeplugin.infer.InferredBy
import io.aqeplugin.limit.{DecidedLimit, LimitChoice, LimitOutcome}
import io.aqeplugin.metrics.{CounterFamily, CounterMetric, Faults, GaugeMetric, MetricFamily}
import io.aqeplugin.observe.{FilterOutcome, QueryStates}

/** The driver's metrics in Spark's own metrics system, under `plugin.io.aqeplugin.AqePlugin`, counted since its JVM started.
  * `docs/operations/metrics.md` is generated from this file. The executors' metrics are in [[io.aqeplugin.exec.ExecutorMetrics]].
  */
object DecisionMetrics {
  private val decisions =
    new CounterFamily[Strategy]("decisions.", "choice", Strategy.All, _.name, "joins", "joins decided, by decision")
  private val reasons =
    new CounterFamily[ReasonCode]("decisions.reason.", "code", ReasonCode.All, _.name, "joins", "joins decided, by reason")
  private val filterReasons =
    new CounterFamily[ReasonCode](
      "filters.reason.",
      "code",
      ReasonCode.All,
      _.name,
      "joins",
      "joins decided, by the reason why their build side's keys do or do not become a filter"
    )
  private val waitsBegun = new CounterMetric("waits.begun", "joins", "joins whose probe side waited")
  private val waitsDeclined = new CounterMetric("waits.declined", "joins", "joins whose probe side could have waited but did not")
  private val filtersPlanned = new CounterMetric("filters.planned", "filters", "filters in the plans that ran, one per scan")
  private val filtersApplied = new CounterMetric("filters.applied", "filters", "planned filters that their scan found when it ran")
  private val filtersNotApplied =
    new CounterMetric("filters.notApplied", "filters", "planned filters that were not applied; each is a fault")
  private val filtersPassedAll =
    new CounterFamily[ReasonCode](
      "filters.passedAll.",
      "code",
      ReasonCode.All,
      _.name,
      "filters",
      "filters that passed every row because they could not be built, by reason"
    )
  private val filtersOfKind =
    new CounterFamily[String]("filters.kind.", "kind", FilterKind.All.map(_.name), identity, "filters", "filters that were built, by kind")
  private val filtersSelfDisabled =
    new CounterMetric(
      "filters.selfDisabled",
      "filters",
      "filters that let rows pass unchecked: a task paused them because they removed too few rows, or could not compute their key"
    )
  private val rowsIn = new CounterMetric("filters.rowsIn", "rows", "rows that filters checked in queries that have ended")
  private val rowsOut = new CounterMetric("filters.rowsOut", "rows", "checked rows that passed")
  private val filterBytes = new CounterMetric("filters.bytes", "bytes", "total memory of all filters that were built")
  private val buildMillis = new CounterMetric("filters.buildMillis", "millis", "total duration of the filter builds")
  private val waitMillis =
    new CounterMetric(
      "filters.waitMillis",
      "millis",
      "total time from the starts of queries until scans had their filters; they may have waited for other reasons too"
    )
  private val limits =
    new CounterFamily[LimitChoice]("limits.", "choice", LimitChoice.All, _.name, "limits", "limits of queries that have ended, by decision")
  private val limitReasons =
    new CounterFamily[ReasonCode](
      "limits.reason.",
      "code",
      ReasonCode.All.filter(code => code.topic == ReasonTopic.Limit),
      _.name,
      "limits",
      "limits of queries that have ended, by reason"
    )
  private val limitFiles = new CounterMetric("limits.filesLeftOut", "files", "files that the scans below limits did not have to read")
  private val limitRows = new CounterMetric("limits.rowsRead", "rows", "rows that the scans below limits read")
  private val predicates =
    new CounterFamily[InferredBy](
      "predicates.",
      "by",
      InferredBy.All,
      _.name,
      "predicates",
      "predicates inferred across joins, by how they follow, whether or not they were applied"
    )
  private val queriesEnded = new CounterMetric("queries.ended", "queries", "queries planned with the plugin that have ended")
  private val queriesFailed =
    new CounterMetric("queries.failed", "queries", "ended queries that failed or were cancelled, for any reason")
  private val queriesTracked =
    new GaugeMetric("queries.tracked", "queries", "running queries whose state is kept", () => QueryStates.size.toLong)
  private val ruleMillis =
    new CounterMetric("rules.millis", "millis", "time spent in the plugin's own rules, without the inference of predicates")

  /** All metrics, in the order of the documentation. */
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
    limits,
    limitReasons,
    limitFiles,
    limitRows,
    predicates,
    queriesEnded,
    queriesFailed,
    queriesTracked,
    ruleMillis,
    Faults.counter
  )

  /** Name and counter of all counters. */
  def counters: Seq[(String, Counter)] = All.flatMap(_.metrics).collect { case (name, counter: Counter) => name -> counter }

  def register(registry: MetricRegistry): Unit = MetricFamily.register(All, registry)

  private[tell] def decided(decision: JoinDecision, mode: Mode): Unit = {
    decisions.add(decision.choice)
    reasons.add(decision.reason.code)
    filterReasons.add(decision.filterReason.code)
    decision.facts.waiting.foreach { waiting =>
      if (waiting.hasBegun(mode)) waitsBegun.add(1L) else if (!waiting.waits) waitsDeclined.add(1L)
    }
  }

  private[tell] def limited(limit: DecidedLimit, outcome: Option[LimitOutcome]): Unit = {
    val decision = limit.decision
    limits.add(decision.choice)
    limitReasons.add(decision.reason.code)
    if (limit.applied) limitFiles.add((decision.facts.files - decision.filesChosen).toLong)
    outcome.foreach(read => limitRows.add(read.rowsRead))
  }

  private[tell] def inferred(by: InferredBy): Unit = predicates.add(by)

  private[tell] def ended(failed: Boolean, millisInRules: Long, outcomes: Seq[FilterOutcome]): Unit = {
    queriesEnded.add(1L)
    if (failed) queriesFailed.add(1L)
    ruleMillis.add(millisInRules)
    filtersPlanned.add(outcomes.size.toLong)
    outcomes.foreach { o =>
      (if (o.found) filtersApplied else filtersNotApplied).add(1L)
      o.reason.foreach(reason => filtersPassedAll.add(reason.code))
      filtersOfKind.add(o.kind)
      if (o.rowsUnchecked > 0) filtersSelfDisabled.add(1L)
      rowsIn.add(o.rowsIn)
      rowsOut.add(o.rowsOut)
      filterBytes.add(o.filterBytes)
      buildMillis.add(o.buildMillis)
      waitMillis.add(o.waitMillis)
    }
  }
}
