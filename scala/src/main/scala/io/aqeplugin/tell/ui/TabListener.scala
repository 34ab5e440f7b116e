package io.aqeplugin.tell.ui

import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.util.kvstore.KVStore

import io.aqeplugin.decide.JoinDecision
import io.aqeplugin.tell._

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
    case decided: JoinDecided  => TabGuard.orElse(())(ReadEvents.decided(decided).fold(_ => skip(), write(_, decided)))
    case limited: LimitDecided =>
      TabGuard.orElse(())(ReadEvents.limited(limited).fold(_ => skip(), { case (limit, text) => write(limit, text, limited) }))
    case inferred: PredicateInferred => TabGuard.orElse(())(ReadEvents.inferred(inferred).fold(_ => skip(), write(_)))
    case ended: QueryEnded           => TabGuard.orElse(())(ReadEvents.ended(ended).fold(_ => skip(), write(_, ended)))
    case _                           =>
  }

  private def write(event: Decided, written: JoinDecided): Unit =
    add(TabListener.begun(event.executionId, event.timeMillis, event.mode, written.arm))(
      query => query.copy(mode = event.mode, joins = query.joins + 1, choices = ChoiceCount.plus(query.choices, event.decision.choice)),
      totals =>
        totals.copy(mode = TabListener.modes(totals, event.mode), choices = ChoiceCount.plus(totals.choices, event.decision.choice)),
      query =>
        query.joins -> JoinRecord(
          PartRecords.key(query.executionId, query.joins),
          query.executionId,
          query.joins,
          Json.render(DecisionJson.write(TabListener.bounded(event.decision))),
          Json.render(written.filters)
        )
    )

  /** The mode of a limit is its own; it is the query's and the application's only where no join was decided. */
  private def write(limit: Limited, text: String, written: LimitDecided): Unit = {
    val decision = limit.decision
    val leftOut = if (written.applied) math.max(0, decision.facts.files - decision.filesChosen) else 0
    add(TabListener.begun(written.executionId, written.timeMillis, written.mode, written.arm))(
      query => query.copy(mode = if (query.joins == 0) written.mode else query.mode, limits = query.limits + 1),
      totals =>
        totals.copy(
          mode = if (totals.choices.isEmpty) written.mode else totals.mode,
          limits = totals.limits + 1,
          limitFilesLeftOut = totals.limitFilesLeftOut + leftOut.toLong
        ),
      query =>
        query.limits -> LimitRecord(
          PartRecords.key(query.executionId, query.limits),
          query.executionId,
          query.limits,
          written.applied,
          text
        )
    )
  }

  /** The mode of a predicate is that of the inference; it is the query's only where nothing else was decided. */
  private def write(event: PredicateInferred): Unit =
    add(TabListener.begun(event.executionId, event.timeMillis, event.mode, event.arm))(
      query => query.copy(predicates = query.predicates + 1),
      totals => totals.copy(predicates = totals.predicates + 1),
      query =>
        query.predicates -> PredicateRecord(
          PartRecords.key(query.executionId, query.predicates),
          query.executionId,
          query.predicates,
          event.table.take(TabListener.MaxLength),
          event.predicate.take(TabListener.MaxLength),
          event.inferredBy.take(TabListener.MaxLength),
          event.applied
        )
    )

  /** Counts one part of a query in the query and in the totals, and keeps it while its number, counted from 1, allows that.
    *
    * @param begun
    *   the query's record if this is its first event
    * @param part
    *   number and record of the part
    */
  private def add(begun: QueryRecord)(
      ofQuery: QueryRecord => QueryRecord,
      ofTotals: TotalsRecord => TotalsRecord,
      part: QueryRecord => (Int, AnyRef)
  ): Unit = {
    val before = records.find(begun.executionId)
    val query = ofQuery(before.getOrElse(begun))
    val (number, record) = part(query)
    if (number <= PartRecords.MaxPerQuery) store.write(record)
    store.write(query)
    val totals = ofTotals(records.totals)
    store.write(totals.copy(queries = totals.queries + (if (before.isEmpty) 1 else 0)))
    if (before.isEmpty) forgetOldest()
  }

  private def write(event: Ended, written: QueryEnded): Unit = {
    val (sums, saved) = (FilterSums.of(event.outcomes), SavingSums.of(event.savings))
    val before = records.find(event.executionId)
    // A query without a join, limit or predicate is recorded only if the plugin failed in it.
    before.orElse(Option.when(event.errors > 0)(TabListener.begun(event.executionId, event.timeMillis, "", written.arm))).foreach { query =>
      store.write(
        query.copy(
          ended = true,
          durationMillis = event.durationMillis,
          ruleMillis = event.ruleMillis,
          filters = sums,
          errors = event.errors,
          saved = saved
        )
      )
      store.write(OutcomesRecord(event.executionId, Json.render(written.outcomes)))
    }
    val totals = records.totals
    val (applied, observed) = event.savings.partition(_.applied)
    store.write(
      totals.copy(
        filters = totals.filters.plus(sums),
        errors = totals.errors + event.errors,
        saved = totals.saved.plus(SavingSums.of(applied)),
        wouldSave = totals.wouldSave.plus(SavingSums.of(observed))
      )
    )
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

  /** The modes in which joins were decided, such as those of the conf and, in queries that are only observed, `observe`. */
  private def modes(totals: TotalsRecord, mode: String): String =
    if (totals.choices.isEmpty) mode else (totals.mode.split(", ").toSeq :+ mode).distinct.sorted.mkString(", ")

  /** Maximum length of a kept join key, predicate or name. */
  private val MaxLength = 1000

  private def begun(executionId: Long, timeMillis: Long, mode: String, arm: Option[String]): QueryRecord =
    QueryRecord(executionId, timeMillis, mode, 0, Nil, ended = false, 0, 0, FilterSums.None, 0, arm)

  /** The decision without parts that may be long and are not shown. */
  private def bounded(decision: JoinDecision): JoinDecision = {
    val facts = decision.facts
    val build = facts.build.copy(keys = facts.build.keys.copy(histogram = Nil))
    val probe = facts.probe.copy(keys = facts.probe.keys.map(_.copy(histogram = Nil)))
    decision.copy(facts = facts.copy(keys = facts.keys.map(_.take(MaxLength)), build = build, probe = probe))
  }
}
