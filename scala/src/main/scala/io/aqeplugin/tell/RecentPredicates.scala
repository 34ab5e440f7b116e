package io.aqeplugin.tell

import java.util.concurrent.atomic.AtomicReference

import io.aqeplugin.conf.AqeConf

/** The latest inferred predicates of the driver's queries, for [[PredicatesTable]]. Thread-safe.
  *
  * @param max
  *   predicates to keep; the oldest are dropped first
  */
final class RecentPredicates(max: Int) {
  private val kept = new AtomicReference(Vector.empty[PredicateInferred])

  def all: Seq[PredicateInferred] = kept.get

  def add(predicate: PredicateInferred): Unit = { val _ = kept.updateAndGet(before => (before :+ predicate).takeRight(max)) }
}

object RecentPredicates {
  private val holder = new AtomicReference(new RecentPredicates(0))

  /** The predicates of the application in this JVM. */
  def current: RecentPredicates = holder.get

  /** Starts empty, for a new application. */
  def begin(get: String => Option[String]): Unit = {
    val entry = AqeConf.DecisionsKeptQueries
    holder.set(new RecentPredicates(get(entry.key).flatMap(entry.parse(_).toOption).getOrElse(entry.default).toInt))
  }
}
