package io.aqeplugin.tell

import com.codahale.metrics.Counter

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide.{JoinDecision, ReasonCode, ReasonTopic, Strategy}
import io.aqeplugin.filters.FilterKind
import io.aqeplugin.infer.InferredBy
import io.aqeplugin.limit.{DecidedLimit, LimitChoice, LimitOutcome}
import io.aqeplugin.metrics.{Faults, GaugeMetric, MetricList}
import io.aqeplugin.observe.{FilterOutcome, QueryStates}

/** The driver's metrics in Spark's own metrics system, under `plugin.io.aqeplugin.AqePlugin`, counted since its JVM started.
  * `docs/reference/metrics.md` is generated from this file. The executors' metrics are in [[io.aqeplugin.exec.ExecutorMetrics]].
  */
object DecisionMetrics extends MetricList {
  private val decisions = family("decisions.", "choice", Strategy.All, "joins")("joins decided, by decision")
  private val reasons = family("decisions.reason.", "code", ReasonCode.All, "joins")("joins decided, by reason")
  private val filterReasons = family("filters.reason.", "code", ReasonCode.All, "joins")(
    "joins decided, by the reason why their build side's keys do or do not become a filter"
  )
  private val waitsBegun = counter("waits.begun", "joins")("joins whose probe side waited")
  private val waitsDeclined = counter("waits.declined", "joins")("joins whose probe side could have waited but did not")
  private val filtersPlanned = counter("filters.planned", "filters")("filters in the plans that ran, one per scan")
  private val filtersApplied = counter("filters.applied", "filters")("planned filters that their scan found when it ran")
  private val filtersNotApplied = counter("filters.notApplied", "filters")("planned filters that were not applied; each is a fault")
  private val filtersPassedAll = family("filters.passedAll.", "code", ReasonCode.All, "filters")(
    "filters that passed every row because they could not be built, by reason"
  )
  private val filtersOfKind = family("filters.kind.", "kind", FilterKind.All, "filters")("filters that were built, by kind")
  private val filtersSelfDisabled = counter("filters.selfDisabled", "filters")(
    "filters that let rows pass unchecked: a task paused them because they removed too few rows, or could not compute their key"
  )
  private val rowsIn = counter("filters.rowsIn", "rows")("rows that filters checked in queries that have ended")
  private val rowsOut = counter("filters.rowsOut", "rows")("checked rows that passed")
  private val filesLeftOut =
    counter("filters.filesLeftOut", "files")("data files that scans did not read because they hold none of the keys, as far as known")
  private val bytesLeftOut = counter("filters.bytesLeftOut", "bytes")("bytes of the files that filters.filesLeftOut counts")
  private val filterBytes = counter("filters.bytes", "bytes")("total memory of all filters that were built")
  private val buildMillis = counter("filters.buildMillis", "millis")("total duration of the filter builds")
  private val waitMillis = counter("filters.waitMillis", "millis")(
    "total time from the starts of queries until scans had their filters; they may have waited for other reasons too"
  )
  private val limits = family("limits.", "choice", LimitChoice.All, "limits")("limits of queries that have ended, by decision")
  private val limitReasons = family("limits.reason.", "code", ReasonCode.All.filter(code => code.topic == ReasonTopic.Limit), "limits")(
    "limits of queries that have ended, by reason"
  )
  private val limitFiles = counter("limits.filesLeftOut", "files")("files that the scans below limits did not have to read")
  private val limitRows = counter("limits.rowsRead", "rows")("rows that the scans below limits read")
  private val predicates = family("predicates.", "by", InferredBy.All, "predicates")(
    "predicates inferred across joins, by how they follow, whether or not they were applied"
  )
  private val queriesEnded = counter("queries.ended", "queries")("queries planned with the plugin that have ended")
  private val queriesFailed = counter("queries.failed", "queries")("ended queries that failed or were cancelled, for any reason")
  define(new GaugeMetric("queries.tracked", "queries", "running queries whose state is kept", () => QueryStates.size.toLong))
  private val ruleMillis = counter("rules.millis", "millis")("time spent in the plugin's own rules, without the inference of predicates")

  define(Faults.counter)

  /** Name and counter of all counters. */
  def counters: Seq[(String, Counter)] = All.flatMap(_.metrics).collect { case (name, counter: Counter) => name -> counter }

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
      o.filesLeftOut.foreach(filesLeftOut.add)
      o.bytesLeftOut.foreach(bytesLeftOut.add)
      filterBytes.add(o.filterBytes)
      buildMillis.add(o.buildMillis)
      waitMillis.add(o.waitMillis)
    }
  }
}
