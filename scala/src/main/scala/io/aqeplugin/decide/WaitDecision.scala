package io.aqeplugin.decide

import io.aqeplugin.conf.Mode

/** Whether the probe side waits for its build side.
  *
  * @param savingMillis
  *   elapsed time that the finished build side is estimated to save, before `wait.savingShare`
  * @param idleMillis
  *   elapsed time for which the wait is estimated to leave the slots idle
  * @param buildMillis
  *   elapsed time that the build side is estimated to take
  * @param outcome
  *   how the wait ended; none until then, and if there was no wait
  */
final case class WaitDecision(
    waits: Boolean,
    reason: Reason,
    savingMillis: Double,
    idleMillis: Double,
    buildMillis: Double = 0,
    outcome: Option[WaitOutcome] = None
) {

  /** Whether the probe side waited, also if it was released before the build side had finished. In mode observe, nothing waits. */
  def hasBegun(mode: Mode): Boolean = mode == Mode.Apply && (waits || outcome.isDefined)
}

/** The end of a wait.
  *
  * @param millis
  *   from the plan in which the wait began until the plan in which it ended
  */
final case class WaitOutcome(end: WaitEnd, millis: Double)

/** How a wait ended. */
sealed abstract class WaitEnd(val name: String, val meaning: String) extends Product with Serializable

object WaitEnd {
  case object Used extends WaitEnd("used", "the finished build side gave a filter or a join strategy that needs the wait")
  case object Unused extends WaitEnd("unused", "the finished build side gave nothing that needs the wait")
  case object Released extends WaitEnd("released", "the probe side started before the build side had finished")

  val All: Seq[WaitEnd] = Seq(Used, Unused, Released)

  def fromName(name: String): Option[WaitEnd] = All.find(_.name == name)
}
