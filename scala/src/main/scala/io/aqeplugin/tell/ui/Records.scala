package io.aqeplugin.tell.ui

import scala.annotation.meta.getter

import org.apache.spark.util.kvstore.KVIndex

import io.aqeplugin.decide.{JoinSaving, Strategy}
import io.aqeplugin.observe.FilterOutcome

/* The tab's records in Spark's UI store. That store may be a database on disk that writes the fields as JSON, so records contain only
 * primitives, texts and lists of such values. */

/** Number of joins decided for one strategy; `choice` is its name. */
final case class ChoiceCount(choice: String, joins: Long)

object ChoiceCount {

  /** Adds a join for `strategy`; the order is that of the strategies. */
  def plus(counts: Seq[ChoiceCount], strategy: Strategy): Seq[ChoiceCount] = Strategy.All.flatMap { known =>
    val joins = counts.find(_.choice == known.name).fold(0L)(_.joins) + (if (known == strategy) 1L else 0L)
    Some(ChoiceCount(known.name, joins)).filter(_.joins > 0)
  }
}

/** Totals of filters that ran.
  *
  * @param planned
  *   filters in plans that ran
  * @param applied
  *   planned filters that their scan found
  * @param passedAll
  *   applied filters that could not be built and let every row pass
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
    // A filter that serves several scans is in memory once.
    bytes = outcomes.map(outcome => outcome.filterId -> outcome.filterBytes).toMap.values.sum,
    waitMillis = outcomes.map(_.waitMillis).maxOption.getOrElse(0L)
  )
}

/** What joins saved, predicted by price; a join that became dearer counts against it. */
final case class SavingSums(joins: Long, elapsedMillis: Double, processorMillis: Double, shuffleBytes: Double, unreadBytes: Double) {
  def plus(other: SavingSums): SavingSums = SavingSums(
    joins + other.joins,
    elapsedMillis + other.elapsedMillis,
    processorMillis + other.processorMillis,
    shuffleBytes + other.shuffleBytes,
    unreadBytes + other.unreadBytes
  )
}

object SavingSums {
  val None: SavingSums = SavingSums(0, 0, 0, 0, 0)

  def of(savings: Seq[JoinSaving]): SavingSums = SavingSums(
    savings.size.toLong,
    savings.flatMap(_.elapsedMillis).sum,
    savings.flatMap(_.processorMillis).sum,
    savings.map(_.shuffleBytes).sum,
    savings.map(_.unreadBytes).sum
  )
}

/** One query in the list.
  *
  * @param firstMillis
  *   time of its first event
  * @param joins
  *   joins decided
  * @param ended
  *   whether its outcome is known; until then durations, filters and errors are 0
  * @param arm
  *   the query's arm; none without a canary
  * @param limits
  *   limits decided
  * @param predicates
  *   predicates inferred across joins
  * @param saved
  *   what its joins saved or, in mode observe, would have saved
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
    arm: Option[String] = None,
    limits: Int = 0,
    predicates: Int = 0,
    saved: SavingSums = SavingSums.None
)

/** Keys and numbers of what a query has several of: joins, limits, predicates. */
object PartRecords {
  final val ByExecution = "execution"

  /** Maximum number of kept records of one kind per query; more are only counted. */
  val MaxPerQuery = 200

  def key(executionId: Long, number: Int): String = s"$executionId/$number"
}

/** One join of a query: the texts of its decision and of its filters' placements, as in the event. */
final case class JoinRecord(
    @(KVIndex @getter) key: String,
    @(KVIndex @getter)(PartRecords.ByExecution) executionId: Long,
    number: Int,
    decision: String,
    filters: String
)

/** One limit of a query.
  *
  * @param limit
  *   the text of an object with the `decision` and the `outcome` of the event
  */
final case class LimitRecord(
    @(KVIndex @getter) key: String,
    @(KVIndex @getter)(PartRecords.ByExecution) executionId: Long,
    number: Int,
    applied: Boolean,
    limit: String
)

/** One predicate that was inferred across the joins of a query, with the fields of its event. */
final case class PredicateRecord(
    @(KVIndex @getter) key: String,
    @(KVIndex @getter)(PartRecords.ByExecution) executionId: Long,
    number: Int,
    table: String,
    predicate: String,
    inferredBy: String,
    applied: Boolean
)

/** The text of the filter outcomes of a query that has ended. */
final case class OutcomesRecord(@(KVIndex @getter) executionId: Long, outcomes: String)

/** Totals over all queries of the application, including those that are no longer kept.
  *
  * @param mode
  *   of the latest decision on a join, or on a limit where no join was decided; empty before the first
  * @param skipped
  *   number of the plugin's events that this version cannot read
  * @param limitFilesLeftOut
  *   files that the scans below limits did not have to read
  * @param saved
  *   of queries that succeeded in mode apply; `wouldSave` of those that were only observed
  */
final case class TotalsRecord(
    @(KVIndex @getter) key: String,
    mode: String,
    queries: Long,
    choices: Seq[ChoiceCount],
    filters: FilterSums,
    errors: Long,
    skipped: Long,
    limits: Long = 0,
    limitFilesLeftOut: Long = 0,
    predicates: Long = 0,
    saved: SavingSums = SavingSums.None,
    wouldSave: SavingSums = SavingSums.None
) {
  def nonEmpty: Boolean = queries > 0 || errors > 0 || skipped > 0
}

object TotalsRecord {
  val Key = "totals"
  val Zero: TotalsRecord = TotalsRecord(Key, "", 0, Nil, FilterSums.None, 0, 0)
}
