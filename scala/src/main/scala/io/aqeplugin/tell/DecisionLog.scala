package io.aqeplugin.tell

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.SparkContext
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.slf4j.LoggerFactory

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide.{JoinDecision, JoinSaving}
import io.aqeplugin.limit.{DecidedLimit, LimitDecision}
import io.aqeplugin.observe.{FilterOutcome, QueryState}

/** Records each [[JoinDecision]] as a log line, an event, a counter and a row of `aqe_decisions()`. */
object DecisionLog {
  private val log = LoggerFactory.getLogger("io.aqeplugin.decisions")
  private val MaxConfLength = 512

  def record(sparkContext: SparkContext, state: QueryState, mode: Mode, decision: JoinDecision): Unit = {
    if (log.isInfoEnabled) log.info(ExplainText.line(state.executionId, decision))
    DecisionMetrics.decided(decision, mode)
    val timeMillis = System.currentTimeMillis()
    // A filter that was placed to wait and was not wanted later is no longer in the plan.
    val places = if (decision.buildFilter) state.filtersOf(decision.facts.joinId) else Nil
    RecentDecisions.current.add(state, KeptDecision(timeMillis, mode, decision, places))
    SparkBridge.post(
      sparkContext,
      JoinDecided(
        Events.SchemaVersion,
        state.executionId,
        timeMillis,
        mode.name,
        DecisionJson.write(decision),
        Json.array(places.map(EventSchema.Placed.write(_))),
        state.arm.map(_.name)
      )
    )
  }

  /** Logs the decision of a limit while its query is planned. */
  def announce(state: QueryState, decision: LimitDecision): Unit =
    if (log.isInfoEnabled) log.info(ExplainText.line(state.executionId, decision))

  /** Records a limit of a query that has ended. */
  def record(sparkContext: SparkContext, state: QueryState, limit: DecidedLimit): Unit = {
    val outcome = limit.outcome()
    LatestRows.Limits.add(KeptLimit.of(state.executionId, state.origin, limit, outcome))
    DecisionMetrics.limited(limit, outcome)
    SparkBridge.post(
      sparkContext,
      LimitDecided(
        Events.SchemaVersion,
        state.executionId,
        limit.timeMillis,
        limit.mode.name,
        limit.applied,
        EventSchema.Limit.write(limit.decision),
        outcome.fold[JsonNode](Json.Nodes.nullNode())(EventSchema.LimitRead.write),
        state.arm.map(_.name)
      )
    )
  }

  /** Records the outcomes of the filters of a query that has ended. */
  def recordEnd(
      sparkContext: SparkContext,
      state: QueryState,
      durationMillis: Long,
      failed: Boolean,
      outcomes: Seq[FilterOutcome],
      flips: Seq[JoinFlip],
      savings: Seq[JoinSaving]
  ): Unit = {
    val timeMillis = System.currentTimeMillis()
    val ruleMillis = state.ruleNanos.sum() / 1000000L
    val errors = state.errors.sum() + state.filterFaults
    RecentDecisions.current.end(
      state.executionId,
      KeptEnd(timeMillis, durationMillis, ruleMillis, failed, errors, outcomes, savings = savings),
      state.conf.map(_.thresholds)
    )
    val applied = outcomes.count(_.found)
    SparkBridge.post(
      sparkContext,
      QueryEnded(
        Events.SchemaVersion,
        state.executionId,
        timeMillis,
        durationMillis,
        ruleMillis,
        outcomes.size,
        applied,
        errors,
        Json.array(outcomes.map(EventSchema.Outcome.write(_))),
        state.arm.map(_.name),
        state.badConf.map(_.message.take(MaxConfLength)),
        Json.array(flips.map(EventSchema.Flip.write(_))),
        Json.array(savings.map(EventSchema.Saving.write(_)))
      )
    )
    DecisionMetrics.ended(failed, ruleMillis, outcomes)
  }
}
