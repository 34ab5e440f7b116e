package io.aqeplugin.metrics

import scala.util.control.NonFatal

/** A fault that no query has to end for: whatever is not fatal, and two that Scala counts as fatal, a deep plan and classes of another Spark line. */
object Survivable {
  def unapply(error: Throwable): Option[Throwable] = error match {
    case NonFatal(_) | (_: StackOverflowError) | (_: LinkageError) => Some(error)
    case _                                                         => None
  }
}
