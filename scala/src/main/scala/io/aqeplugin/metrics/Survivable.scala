package io.aqeplugin.metrics

import scala.util.control.NonFatal

/** Matches faults that need not end a query: every non-fatal one, and two that Scala considers fatal, from deep plans and from classes
  * of another Spark line.
  */
object Survivable {
  def unapply(error: Throwable): Option[Throwable] = error match {
    case NonFatal(_) | (_: StackOverflowError) | (_: LinkageError) => Some(error)
    case _                                                         => None
  }
}
