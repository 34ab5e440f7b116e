package io.aqeplugin.tell.ui

import scala.util.control.NonFatal

import io.aqeplugin.tell.Faults

/** Around everything that touches Spark's UI: whatever goes wrong there costs the tab, or what it shows, never a query or the application.
  *
  * Knows no class of the UI, so that it can be loaded where those are missing or changed.
  */
object TabGuard {

  /** `body`, or `otherwise` when it fails. The fault is counted, and warned of once. */
  def orElse[A](otherwise: => A)(body: => A): A =
    try body
    catch {
      case NonFatal(error) => lost(otherwise, error)
      // What a Spark whose servlet classes or UI differ from those of this jar answers with; for Scala that is fatal.
      case error: LinkageError => lost(otherwise, error)
    }

  private def lost[A](otherwise: => A, error: Throwable): A = {
    Faults.note("the UI's tab \"Runtime filters\"", "it is not shown or not complete", error)
    otherwise
  }
}
