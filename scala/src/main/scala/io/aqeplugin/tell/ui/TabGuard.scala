package io.aqeplugin.tell.ui

import io.aqeplugin.metrics.{Faults, Survivable}

/** Around everything that touches Spark's UI: whatever goes wrong there costs the tab, or what it shows, never a query or the application.
  *
  * Knows no class of the UI, so that it can be loaded where those are missing or changed.
  */
object TabGuard {

  /** `body`, or `otherwise` when it fails. The fault is counted, and warned of once. */
  def orElse[A](otherwise: => A)(body: => A): A =
    try body
    catch {
      case Survivable(error) =>
        Faults.note("the UI's tab \"Runtime filters\"", "it is not shown or not complete", error)
        otherwise
    }
}
