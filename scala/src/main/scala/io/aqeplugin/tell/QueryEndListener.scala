package io.aqeplugin.tell

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide.{JoinDecision, JoinSaving}
import io.aqeplugin.limit.LimitsOfQuery
import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.observe.{FilterOutcome, LoweredFilters, QueryState, QueryStates}

/** Closes the state of a query that has ended: records its undecided joins and the outcomes of its filters, and frees the state.
  */
final class QueryEndListener(sparkContext: SparkContext) extends SparkListener {

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case end: SparkListenerSQLExecutionEnd => QueryStates.remove(end.executionId).foreach(close(_, end))
    case mark: EndsSeen                    => mark.reach()
    case _                                 =>
  }

  private def close(state: QueryState, end: SparkListenerSQLExecutionEnd): Unit =
    try
      if (state.end()) {
        val failed = end.errorMessage.exists(_.nonEmpty)
        val decided = state.decisions
        val flips = JoinFlips.toRecord(decided, state.conf.map(_.thresholds), SparkBridge.durationMillis(end))
        val late = state.endJoins()
        late.foreach(DecisionLog.record(sparkContext, state, state.mode, _))
        LimitsOfQuery(state).decided.foreach(DecisionLog.record(sparkContext, state, _))
        // An engine counts rows for itself.
        if (state.conf.exists(_.engine.isDefined) && (decided ++ late).exists(_.buildFilter))
          survivably("filters of an engine")(SparkBridge.queryOf(end).toSeq.flatMap(SparkBridge.ofItsSession(_)(LoweredFilters.ran)))
            .foreach(state.rememberStarted)
        val outcomes = state.filterOutcomes
        val savings = if (failed) Nil else savingsOf(state, outcomes, (decided ++ late.filter(_.buildFilter)).distinctBy(_.facts.joinId))
        DecisionLog.recordEnd(sparkContext, state, SparkBridge.durationMillis(end), failed, outcomes, flips, savings)
      }
    catch {
      case Survivable(error) => Faults.note("end of query", "the query's outcome is not recorded", error)
    }

  private def savingsOf(
      state: QueryState,
      outcomes: Seq[FilterOutcome],
      decisions: Seq[JoinDecision]
  ): Seq[JoinSaving] = survivably("savings") {
    val left = state.rowsLeft
    val working = outcomes.filterNot(_.passesAll).map(_.joinId).toSet
    for {
      conf <- state.conf.toSeq
      decision <- decisions
      joinId = decision.facts.joinId
      applied = conf.mode == Mode.Apply
      // A filter of mode observe would have worked.
      option = decision.carriedOut(withFilter = !applied || working(joinId))
      saving <- JoinSaving.of(decision, applied, option, left.get(joinId), conf.thresholds)
    } yield saving
  }

  private def survivably[A](what: String)(found: => Seq[A]): Seq[A] =
    try found
    catch {
      case Survivable(error) =>
        Faults.note(what, "the query's decisions are recorded without them", error)
        Nil
    }
}
