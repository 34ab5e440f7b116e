package io.aqeplugin.conf

/** What the plugin does with its decisions. */
sealed abstract class Mode(val name: String, val meaning: String) extends Named

object Mode extends Names[Mode] {
  case object Off extends Mode("off", "the plugin does nothing")
  case object Observe extends Mode("observe", "decisions are made and recorded, but plans stay unchanged")
  case object Apply extends Mode("apply", "decisions are made, recorded and carried out")

  val All: Seq[Mode] = Seq(Off, Observe, Apply)
}
