package io.aqeplugin.tell.ui

import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.util.kvstore.KVStore

import io.aqeplugin.decide.JoinDecision
import io.aqeplugin.tell.{DecisionJson, JoinDecided, JsonFields, QueryEnded}

/** Writes the plugin's events into Spark's UI store, for a running or a replayed application. Called by one thread at a time.
  *
  * An event that cannot be read is counted and skipped. The listener has no state outside the store.
  *
  * @param retainedQueries
  *   number of queries to keep; the oldest are dropped first, a few at a time
  */
final class TabListener(store: KVStore, retainedQueries: Int) extends SparkListener {
  private val records = new TabStore(store)
  private val retained = math.max(1, retainedQueries)

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case decided: JoinDecided => TabGuard.orElse(())(ReadEvents.decided(decided).fold(_ => skip(), write(_, decided)))
    case ended: QueryEnded    => TabGuard.orElse(())(ReadEvents.ended(ended).fold(_ => skip(), write(_, ended)))
    case _                    =>
  }

  private def write(event: Decided, written: JoinDecided): Unit = {
    val before = records.find(event.executionId)
    val query = before.getOrElse(TabListener.begun(event.executionId, event.timeMillis, event.mode, written.arm))
    val now = query.copy(mode = event.mode, joins = query.joins + 1, choices = ChoiceCount.plus(query.choices, event.decision.choice))
    if (now.joins <= JoinRecord.MaxPerQuery) {
      val decision = DecisionJson.render(DecisionJson.write(TabListener.bounded(event.decision)))
      store.write(
        JoinRecord(JoinRecord.key(now.executionId, now.joins), now.executionId, now.joins, decision, JsonFields.render(written.filters))
      )
    }
    store.write(now)
    val totals = records.totals
    store.write(
      totals.copy(
        mode = event.mode,
        queries = totals.queries + (if (before.isEmpty) 1 else 0),
        choices = ChoiceCount.plus(totals.choices, event.decision.choice)
      )
    )
    if (before.isEmpty) forgetOldest()
  }

  private def write(event: Ended, written: QueryEnded): Unit = {
    val sums = FilterSums.of(event.outcomes)
    val before = records.find(event.executionId)
    // A query without a decision is recorded only if the plugin failed in it.
    before.orElse(Option.when(event.errors > 0)(TabListener.begun(event.executionId, event.timeMillis, "", written.arm))).foreach { query =>
      store.write(
        query.copy(
          ended = true,
          durationMillis = event.durationMillis,
          ruleMillis = event.ruleMillis,
          filters = sums,
          errors = event.errors
        )
      )
      store.write(OutcomesRecord(event.executionId, JsonFields.render(written.outcomes)))
    }
    val totals = records.totals
    store.write(totals.copy(filters = totals.filters.plus(sums), errors = totals.errors + event.errors))
    if (before.isEmpty) forgetOldest()
  }

  private def skip(): Unit = {
    val totals = records.totals
    store.write(totals.copy(skipped = totals.skipped + 1))
  }

  /** Drops a tenth at a time, as Spark does: finding the oldest means sorting all. */
  private def forgetOldest(): Unit =
    if (records.count > retained) records.forgetOldest(records.count - retained + retained / 10)
}

object TabListener {

  /** Maximum length of a kept join key. */
  private val MaxKeyLength = 1000

  private def begun(executionId: Long, timeMillis: Long, mode: String, arm: Option[String]): QueryRecord =
    QueryRecord(executionId, timeMillis, mode, 0, Nil, ended = false, 0, 0, FilterSums.None, 0, arm)

  /** The decision without parts that may be long and are not shown. */
  private def bounded(decision: JoinDecision): JoinDecision = {
    val facts = decision.facts
    val build = facts.build.copy(keys = facts.build.keys.copy(histogram = Nil))
    val probe = facts.probe.copy(keys = facts.probe.keys.map(_.copy(histogram = Nil)))
    decision.copy(facts = facts.copy(keys = facts.keys.map(_.take(MaxKeyLength)), build = build, probe = probe))
  }
}
