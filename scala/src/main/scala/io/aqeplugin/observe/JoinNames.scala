package io.aqeplugin.observe

import scala.collection.mutable

/** Gives the joins of one query their names in events. The first join with a [[JoinId.name]] has that name; the others have `#2`, `#3`, and
  * so on after it, in the order in which they are first met.
  *
  * A query is planned whole before it runs, from the top down, and meets its joins then. So a query that Spark plans alike, in whatever
  * session, has the same names. Thread-safe.
  */
final class JoinNames {
  private val names = mutable.Map.empty[String, String]
  private val met = mutable.Map.empty[String, Int].withDefaultValue(0)

  def known(id: JoinId): Option[String] = names.synchronized(names.get(id.columns))

  def of(id: JoinId): String = names.synchronized {
    names.getOrElseUpdate(
      id.columns, {
        met(id.name) += 1
        if (met(id.name) == 1) id.name else s"${id.name}${JoinNames.Mark}${met(id.name)}"
      }
    )
  }
}

object JoinNames {

  /** Occurs in no [[JoinId.name]]. */
  private val Mark = '#'

  /** Whether two joins of a query have one [[JoinId.name]]. */
  def areOfOneName(one: String, other: String): Boolean = one.takeWhile(_ != Mark) == other.takeWhile(_ != Mark)
}
