package io.aqeplugin.tell

import java.util.concurrent.atomic.AtomicReference

import scala.collection.immutable.TreeMap

import io.aqeplugin.conf.{AqeConf, Mode, TrialArm}
import io.aqeplugin.decide.{JoinDecision, JoinSaving, Thresholds}
import io.aqeplugin.observe.{Executions, FilterOutcome, PlacedFilter, QueryOrigin, QueryState}

/** One kept decision.
  *
  * @param mode
  *   that of the decision: the joins of some queries are only observed
  * @param filters
  *   where the join's filters were placed or not, as known when the decision was recorded
  */
final case class KeptDecision(timeMillis: Long, mode: Mode, decision: JoinDecision, filters: Seq[PlacedFilter])

/** How a query ended.
  *
  * @param ruleMillis
  *   time spent in the plugin's rules
  * @param outcomes
  *   the outcomes of its filters
  * @param flips
  *   the flip points of its decisions
  * @param savings
  *   what its joins saved
  */
final case class KeptEnd(
    timeMillis: Long,
    durationMillis: Long,
    ruleMillis: Long,
    failed: Boolean,
    errors: Long,
    outcomes: Seq[FilterOutcome],
    flips: JoinFlips = JoinFlips.None,
    savings: Seq[JoinSaving] = Nil
)

/** One kept query.
  *
  * @param decided
  *   number of joins decided, including those that were not kept
  * @param arm
  *   the query's arm; none without a canary
  */
final case class KeptQuery(
    executionId: Long,
    origin: QueryOrigin,
    mode: Mode,
    decisions: Vector[KeptDecision] = Vector.empty,
    decided: Long = 0,
    end: Option[KeptEnd] = None,
    arm: Option[TrialArm] = None
)

/** The decisions of the driver's recent queries, for [[DecisionsTable]]. Thread-safe; a reader gets a consistent state of all queries.
  *
  * Keeps at most `maxQueries` queries with `maxPerQuery` decisions each. Above that, it drops the oldest query that has ended, or the
  * oldest of all if every query is running. A query whose end was never announced counts as ended as soon as Spark no longer knows it.
  *
  * @param isRunning
  *   whether Spark still knows an execution
  */
final class RecentDecisions(maxQueries: Int, maxPerQuery: Int, isRunning: Long => Boolean) {
  private val kept = new AtomicReference(TreeMap.empty[Long, KeptQuery])

  /** All kept queries, oldest first. */
  def queries: Seq[KeptQuery] = kept.get.values.toSeq

  def add(query: QueryState, decision: KeptDecision): Unit = {
    val _ = kept.updateAndGet { all =>
      val before = all.getOrElse(query.executionId, KeptQuery(query.executionId, query.origin, query.mode, arm = query.arm))
      val decisions = if (before.decisions.size < maxPerQuery) before.decisions :+ RecentDecisions.cut(decision) else before.decisions
      bounded(all.updated(query.executionId, before.copy(decisions = decisions, decided = before.decided + 1)))
    }
  }

  /** Does nothing for a query without a kept decision. */
  def end(executionId: Long, end: KeptEnd, limits: Option[Thresholds] = None): Unit = {
    val _ = kept.updateAndGet { all =>
      all.get(executionId).fold(all) { query =>
        val joins = query.decisions.iterator.map(_.decision.facts.joinId).toSet
        all.updated(
          executionId,
          query.copy(end =
            Some(
              end.copy(
                outcomes = end.outcomes.filter(o => joins(o.joinId)),
                flips = new JoinFlips(query.decisions.map(_.decision), limits),
                savings = end.savings.filter(saving => joins(saving.joinId))
              )
            )
          )
        )
      }
    }
  }

  /** The state of a query, one of [[RecentDecisions.Statuses]]. */
  def status(query: KeptQuery): String = query.end match {
    case Some(end) if end.failed              => "failed"
    case Some(_)                              => "succeeded"
    case None if isRunning(query.executionId) => "running"
    case None                                 => "unknown"
  }

  private def bounded(all: TreeMap[Long, KeptQuery]): TreeMap[Long, KeptQuery] =
    if (all.size <= maxQueries) all
    else all - all.valuesIterator.find(q => q.end.isDefined || !isRunning(q.executionId)).fold(all.firstKey)(_.executionId)
}

object RecentDecisions {
  val Statuses: Seq[(String, String)] = Seq(
    "running" -> "the query is running",
    "succeeded" -> "the query succeeded",
    "failed" -> "the query failed or was cancelled",
    "unknown" -> "the query is not running, but Spark has not announced its end; it never will if the event was dropped"
  )

  // Texts of unlimited length that come from the query.
  private val MaxKeyLength = 512
  private val MaxKeys = 32
  private val MaxFilters = 64

  private val holder = new AtomicReference(new RecentDecisions(0, 1, Executions.of(_).isDefined))

  /** The decisions of the application in this JVM. */
  def current: RecentDecisions = holder.get

  /** Starts empty, for a new application. A limit that is not allowed is replaced by its default; the plugin's rules report it by name. */
  def begin(get: String => Option[String]): Unit = {
    val (maxQueries, maxPerQuery) = (AqeConf.DecisionsKeptQueries.in(get).toInt, AqeConf.DecisionsKeptPerQuery.in(get).toInt)
    holder.set(new RecentDecisions(maxQueries, maxPerQuery, Executions.of(_).isDefined))
  }

  private def cut(kept: KeptDecision): KeptDecision = {
    val facts = kept.decision.facts
    val keys = facts.keys.take(MaxKeys).map(_.take(MaxKeyLength))
    kept.copy(decision = kept.decision.copy(facts = facts.copy(keys = keys)), filters = kept.filters.take(MaxFilters))
  }
}
