package io.aqeplugin.tell

import java.util.concurrent.atomic.AtomicReference

import scala.collection.immutable.TreeMap

import org.apache.spark.sql.execution.SQLExecution

import io.aqeplugin.conf.{AqeConf, ConfEntry, Mode, TrialArm}
import io.aqeplugin.decide.JoinDecision
import io.aqeplugin.observe.{FilterOutcome, PlacedFilter, QueryOrigin, QueryState}

/** One decision as it is kept.
  *
  * @param filters
  *   where its filter was put or not put, as far as it was known when the decision was written down
  */
final case class KeptDecision(timeMillis: Long, decision: JoinDecision, filters: Seq[PlacedFilter])

/** How a query ended.
  *
  * @param ruleMillis
  *   time spent in the plugin's rules
  * @param outcomes
  *   what became of its filters
  */
final case class KeptEnd(
    timeMillis: Long,
    durationMillis: Long,
    ruleMillis: Long,
    failed: Boolean,
    errors: Long,
    outcomes: Seq[FilterOutcome]
)

/** One query as it is kept.
  *
  * @param decided
  *   joins decided, those included that were too many to be kept
  * @param arm
  *   the side of a trial that it is on, none when nothing is tried
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

/** The decisions of the queries that the driver saw last, for [[DecisionsTable]]. Thread-safe; a reader sees one state of all of them.
  *
  * Holds at most `maxQueries` queries of `maxPerQuery` decisions each. When there is one too many, the oldest that has ended is forgotten, and the
  * oldest of all only when all of them run. A query whose end was never announced counts as ended as soon as Spark does not know it any more.
  *
  * @param isRunning
  *   whether Spark knows an execution
  */
final class RecentDecisions(maxQueries: Int, maxPerQuery: Int, isRunning: Long => Boolean) {
  private val kept = new AtomicReference(TreeMap.empty[Long, KeptQuery])

  /** All of them, the oldest first. */
  def queries: Seq[KeptQuery] = kept.get.values.toSeq

  def add(query: QueryState, decision: KeptDecision): Unit = {
    val _ = kept.updateAndGet { all =>
      val before = all.getOrElse(query.executionId, KeptQuery(query.executionId, query.origin, query.mode, arm = query.arm))
      val decisions = if (before.decisions.size < maxPerQuery) before.decisions :+ RecentDecisions.cut(decision) else before.decisions
      bounded(all.updated(query.executionId, before.copy(decisions = decisions, decided = before.decided + 1)))
    }
  }

  /** Says nothing of a query of which no decision is kept. */
  def end(executionId: Long, end: KeptEnd): Unit = {
    val _ = kept.updateAndGet { all =>
      all.get(executionId).fold(all) { query =>
        val joins = query.decisions.iterator.map(_.decision.facts.joinId).toSet
        all.updated(
          executionId,
          query.copy(end = Some(end.copy(outcomes = end.outcomes.filter(o => joins(o.joinId)))))
        )
      }
    }
  }

  /** How far a query is, in one of the words of [[RecentDecisions.Statuses]]. */
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
    "running" -> "it runs",
    "succeeded" -> "it ended well",
    "failed" -> "it failed or was cancelled",
    "unknown" -> "it runs no more, and Spark has not announced its end, or never will since its event was dropped"
  )

  // Texts that a query writes as long as it likes.
  private val MaxKeyLength = 512
  private val MaxKeys = 32
  private val MaxFilters = 64

  private val holder = new AtomicReference(new RecentDecisions(0, 1, isKnownToSpark))

  /** Those of the application that runs in this JVM. */
  def current: RecentDecisions = holder.get

  /** Begins anew, as an application starts. A bound that is not allowed is the default's: the plugin's rules refuse it by name. */
  def begin(get: String => Option[String]): Unit = {
    def bound(entry: ConfEntry[Long]): Int = get(entry.key).flatMap(entry.parse(_).toOption).getOrElse(entry.default).toInt
    holder.set(new RecentDecisions(bound(AqeConf.DecisionsKeptQueries), bound(AqeConf.DecisionsKeptPerQuery), isKnownToSpark))
  }

  private def isKnownToSpark(executionId: Long): Boolean = Option(SQLExecution.getQueryExecution(executionId)).isDefined

  private def cut(kept: KeptDecision): KeptDecision = {
    val facts = kept.decision.facts
    val keys = facts.keys.take(MaxKeys).map(_.take(MaxKeyLength))
    kept.copy(decision = kept.decision.copy(facts = facts.copy(keys = keys)), filters = kept.filters.take(MaxFilters))
  }
}
