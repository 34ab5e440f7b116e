package io.aqeplugin.tell

import java.util.concurrent.atomic.AtomicReference

import io.aqeplugin.conf.{AqeConf, Mode}
import io.aqeplugin.limit.{DecidedLimit, LimitDecision, LimitOutcome}
import io.aqeplugin.observe.QueryOrigin

/** One limit of a query that has ended. It has nothing of the [[DecidedLimit]] that would keep the query's plan alive.
  *
  * @param outcome
  *   none when the limit has no scan
  */
final case class KeptLimit(
    executionId: Long,
    origin: QueryOrigin,
    timeMillis: Long,
    mode: Mode,
    decision: LimitDecision,
    applied: Boolean,
    outcome: Option[LimitOutcome]
)

/** The latest values of one kind in the driver's JVM; the oldest are dropped first. Thread-safe. */
final class LatestRows[A] {
  import LatestRows.Kept

  private val kept = new AtomicReference(Kept[A](0, Vector.empty))

  def all: Seq[A] = kept.get.rows

  def add(row: A): Unit = { val _ = kept.updateAndGet(before => before.copy(rows = (before.rows :+ row).takeRight(before.max))) }

  /** Starts empty, for a new application that keeps `max` values. */
  def begin(max: Int): Unit = kept.set(Kept(max, Vector.empty))
}

object KeptLimit {
  def of(executionId: Long, origin: QueryOrigin, limit: DecidedLimit, outcome: Option[LimitOutcome]): KeptLimit =
    KeptLimit(executionId, origin, limit.timeMillis, limit.mode, limit.decision, limit.applied, outcome)
}

object LatestRows {

  /** For [[LimitsTable]]. */
  val Limits = new LatestRows[KeptLimit]

  /** For [[PredicatesTable]]. */
  val Predicates = new LatestRows[PredicateInferred]

  /** Starts empty, for a new application. */
  def begin(get: String => Option[String]): Unit = {
    val max = AqeConf.DecisionsKeptQueries.in(get).toInt
    Limits.begin(max)
    Predicates.begin(max)
  }

  private final case class Kept[A](max: Int, rows: Vector[A])
}
