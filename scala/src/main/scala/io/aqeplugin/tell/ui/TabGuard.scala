package io.aqeplugin.tell.ui

import io.aqeplugin.metrics.{Faults, Survivable}

/** Wraps every use of Spark's UI: a failure there costs at most the tab or its content, never a query or the application.
  *
  * Refers to no class of the UI, so that it can be loaded where those are missing or different.
  */
object TabGuard {

  /** `body`, or `otherwise` if it fails. The fault is counted, and logged once. */
  def orElse[A](otherwise: => A)(body: => A): A =
    try body
    catch {
      case Survivable(error) =>
        Faults.note("the UI's tab \"Runtime filters\"", "the tab is missing or incomplete", error)
        otherwise
    }
}
