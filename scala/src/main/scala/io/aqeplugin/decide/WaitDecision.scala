package io.aqeplugin.decide

import io.aqeplugin.conf.{Mode, Named, Names}

/** Whether the probe side waits for its build side. */
@Told(doc = "whether a probe side waited for its build side")
final case class WaitDecision(
    @Told(doc = "whether the probe side waited") waits: Boolean,
    @Told(doc = "why it waited or not") reason: Reason,
    @Told(doc = "estimated elapsed time that the finished build side saves", unit = "millis") savingMillis: Double,
    @Told(doc = "estimated elapsed time for which the wait leaves slots idle", unit = "millis") idleMillis: Double,
    @Told(doc = "estimated elapsed time that the build side takes", unit = "millis", optional = true) buildMillis: Double = 0,
    @Told(doc = "the end of the wait", flat = true) outcome: Option[WaitOutcome] = None
) {

  /** Whether the probe side waited, also if it was released before the build side had finished. In mode observe, nothing waits. */
  def hasBegun(mode: Mode): Boolean = mode == Mode.Apply && (waits || outcome.isDefined)
}

/** The end of a wait, which lasted from the plan in which it began until the plan in which it ended. */
@Told(doc = "the end of a wait")
final case class WaitOutcome(
    @Told(name = "outcome", doc = "how the wait ended; null if there was none, or its end was not seen") end: WaitEnd,
    @Told(name = "waitedMillis", doc = "how long the wait lasted", unit = "millis") millis: Double
)

/** How a wait ended. */
sealed abstract class WaitEnd(val name: String, val meaning: String) extends Product with Serializable with Named

object WaitEnd extends Names[WaitEnd] {
  case object Used extends WaitEnd("used", "the finished build side gave a filter or a join strategy that needs the wait")
  case object Unused extends WaitEnd("unused", "the finished build side gave nothing that needs the wait")
  case object Released extends WaitEnd("released", "the probe side started before the build side had finished")

  val All: Seq[WaitEnd] = Seq(Used, Unused, Released)
}
