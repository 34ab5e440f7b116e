package io.aqeplugin.conf

/** How far the plugin goes. */
sealed abstract class Mode(val name: String, val meaning: String)

object Mode {
  case object Off extends Mode("off", "the plugin looks at nothing")
  case object Observe extends Mode("observe", "decisions are made and recorded, plans are left as they are")
  case object Apply extends Mode("apply", "decisions are made, recorded and carried out")

  val All: Seq[Mode] = Seq(Off, Observe, Apply)

  def fromName(name: String): Option[Mode] = All.find(_.name == name)
}
