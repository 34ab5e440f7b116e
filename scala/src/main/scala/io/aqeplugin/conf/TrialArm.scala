package io.aqeplugin.conf

/** The group of a query while [[Canary]] values are tried. */
sealed abstract class TrialArm(val name: String, val meaning: String) extends Named

object TrialArm extends Names[TrialArm] {
  case object Canary extends TrialArm("canary", "the application is in the canary, and the query has every value that is tried")
  case object Control extends TrialArm("control", "the application is not in the canary, and the query has none of the values")
  case object Own extends TrialArm("own", "the user set one of the keys, so the query is left out of the comparison")

  val All: Seq[TrialArm] = Seq(Canary, Control, Own)
}
