package io.aqeplugin.conf

/** Which side of a trial a query is on, see [[Canary]]. */
sealed abstract class TrialArm(val name: String, val meaning: String)

object TrialArm {
  case object Canary extends TrialArm("canary", "its application is drawn, and it has every value that is tried")
  case object Control extends TrialArm("control", "its application is not drawn, and it has none of them")
  case object Own extends TrialArm("own", "its user set one of the keys, so that it is compared with nothing")

  val All: Seq[TrialArm] = Seq(Canary, Control, Own)
}
