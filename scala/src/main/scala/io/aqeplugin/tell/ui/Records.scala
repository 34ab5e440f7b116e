package io.aqeplugin.tell.ui

import scala.annotation.meta.getter

import org.apache.spark.util.kvstore.KVIndex

import io.aqeplugin.decide.Strategy
import io.aqeplugin.observe.FilterOutcome

/* What the tab keeps in Spark's UI store. That store may be a database on disk, which writes these values as JSON by their fields: they hold
 * primitives, texts and lists of such values only. */

/** Joins that were decided for one strategy, `choice` being its name. */
final case class ChoiceCount(choice: String, joins: Long)

object ChoiceCount {

  /** One more join for `strategy`; the order is that of the strategies. */
  def plus(counts: Seq[ChoiceCount], strategy: Strategy): Seq[ChoiceCount] = Strategy.All.flatMap { known =>
    val joins = counts.find(_.choice == known.name).fold(0L)(_.joins) + (if (known == strategy) 1L else 0L)
    Some(ChoiceCount(known.name, joins)).filter(_.joins > 0)
  }
}

/** Filters that ran, added up.
  *
  * @param planned
  *   filters in plans that ran
  * @param applied
  *   those that their scan found
  * @param passedAll
  *   those of the applied ones that could not be built and let every row pass
  * @param waitMillis
  *   the longest wait of a scan for its filters
  */
final case class FilterSums(planned: Long, applied: Long, passedAll: Long, rowsIn: Long, rowsOut: Long, bytes: Long, waitMillis: Long) {
  def rowsRemoved: Long = math.max(0L, rowsIn - rowsOut)
  def missing: Long = math.max(0L, planned - applied)

  def plus(other: FilterSums): FilterSums = FilterSums(
    planned + other.planned,
    applied + other.applied,
    passedAll + other.passedAll,
    rowsIn + other.rowsIn,
    rowsOut + other.rowsOut,
    bytes + other.bytes,
    math.max(waitMillis, other.waitMillis)
  )
}

object FilterSums {
  val None: FilterSums = FilterSums(0, 0, 0, 0, 0, 0, 0)

  def of(outcomes: Seq[FilterOutcome]): FilterSums = FilterSums(
    planned = outcomes.size.toLong,
    applied = outcomes.count(_.found).toLong,
    passedAll = outcomes.count(outcome => outcome.found && outcome.reason.isDefined).toLong,
    rowsIn = outcomes.map(_.rowsIn).sum,
    rowsOut = outcomes.map(_.rowsOut).sum,
    // One filter serves several scans, and is in memory once.
    bytes = outcomes.map(outcome => outcome.filterId -> outcome.filterBytes).toMap.values.sum,
    waitMillis = outcomes.map(_.waitMillis).maxOption.getOrElse(0L)
  )
}

/** One query, as the list shows it.
  *
  * @param firstMillis
  *   when its first join was decided
  * @param joins
  *   joins decided
  * @param ended
  *   whether its outcome is known; until then durations, filters and errors are 0
  * @param arm
  *   the side of a trial that it is on, none when nothing is tried
  */
final case class QueryRecord(
    @(KVIndex @getter) executionId: Long,
    firstMillis: Long,
    mode: String,
    joins: Int,
    choices: Seq[ChoiceCount],
    ended: Boolean,
    durationMillis: Long,
    ruleMillis: Long,
    filters: FilterSums,
    errors: Long,
    arm: Option[String] = None
)

/** One join of a query: the texts of its decision, and of where its filters were put, as they stood in the event. */
final case class JoinRecord(
    @(KVIndex @getter) key: String,
    @(KVIndex @getter)(JoinRecord.ByExecution) executionId: Long,
    number: Int,
    decision: String,
    filters: String
)

object JoinRecord {
  final val ByExecution = "execution"

  /** Joins of one query that are kept: more are counted only. */
  val MaxPerQuery = 200

  def key(executionId: Long, number: Int): String = s"$executionId/$number"
}

/** The text of what the filters of a query that ended did. */
final case class OutcomesRecord(@(KVIndex @getter) executionId: Long, outcomes: String)

/** Sums over all queries of the application, those that are no longer kept included.
  *
  * @param mode
  *   of the latest decision, empty before the first
  * @param skipped
  *   events of ours that this version of the plugin cannot read
  */
final case class TotalsRecord(
    @(KVIndex @getter) key: String,
    mode: String,
    queries: Long,
    choices: Seq[ChoiceCount],
    filters: FilterSums,
    errors: Long,
    skipped: Long
) {
  def nonEmpty: Boolean = queries > 0 || errors > 0 || skipped > 0
}

object TotalsRecord {
  val Key = "totals"
  val Zero: TotalsRecord = TotalsRecord(Key, "", 0, Nil, FilterSums.None, 0, 0)
}
