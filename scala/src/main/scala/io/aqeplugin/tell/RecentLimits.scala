package io.aqeplugin.tell

import java.util.concurrent.atomic.AtomicReference

import io.aqeplugin.conf.{AqeConf, Mode}
import io.aqeplugin.observe.{DecidedLimit, LimitOutcome, QueryOrigin}

/** One limit of a query that has ended. */
final case class KeptLimit(executionId: Long, origin: QueryOrigin, mode: Mode, limit: DecidedLimit, outcome: Option[LimitOutcome])

/** The latest limits of the driver's queries, for [[LimitsTable]]. Thread-safe.
  *
  * @param max
  *   limits to keep; the oldest are dropped first
  */
final class RecentLimits(max: Int) {
  private val kept = new AtomicReference(Vector.empty[KeptLimit])

  def all: Seq[KeptLimit] = kept.get

  def add(limit: KeptLimit): Unit = { val _ = kept.updateAndGet(before => (before :+ limit).takeRight(max)) }
}

object RecentLimits {
  private val holder = new AtomicReference(new RecentLimits(0))

  /** The limits of the application in this JVM. */
  def current: RecentLimits = holder.get

  /** Starts empty, for a new application. */
  def begin(get: String => Option[String]): Unit = {
    val entry = AqeConf.DecisionsKeptQueries
    holder.set(new RecentLimits(get(entry.key).flatMap(entry.parse(_).toOption).getOrElse(entry.default).toInt))
  }
}
