package io.aqeplugin.tell.ui

import java.util.Locale

import scala.xml.Node

import io.aqeplugin.tell.Quantity
import io.aqeplugin.tell.ui.Html.el

/** Small horizontal bars, drawn without a script. The numbers are beside them as text. */
object Bars {
  private val WidthPixels = 120
  private val HeightPixels = 12
  private val Ground = "#e9ecef"
  private val Full = "#3ec0ff" // the color of Spark's progress bars
  private val Mark = "#343a40"

  /** A bar filled to `share`, with a mark at the `expected` share; shares outside 0 to 1 are drawn at the ends. */
  def share(share: Double, expected: Option[Double] = None): Node = {
    val title = Quantity.percent(share) + expected.fold("")(value => s"; expected ${Quantity.percent(value)}")
    el(
      "svg",
      "width" -> WidthPixels.toString,
      "height" -> HeightPixels.toString,
      "role" -> "img",
      "aria-label" -> title
    )(
      Seq(el("title")(Html.text(title)), rect(0, WidthPixels.toDouble, Ground), rect(0, pixels(share), Full)) ++
        expected.map(value => rect(math.min(pixels(value), WidthPixels - 2.0), 2, Mark)): _*
    )
  }

  private def rect(fromPixels: Double, widthPixels: Double, colour: String): Node = el(
    "rect",
    "x" -> number(fromPixels),
    "y" -> "0",
    "width" -> number(widthPixels),
    "height" -> HeightPixels.toString,
    "fill" -> colour
  )()

  private def pixels(share: Double): Double = if (share.isNaN) 0 else math.min(1.0, math.max(0.0, share)) * WidthPixels

  private def number(value: Double): String = "%.1f".formatLocal(Locale.ROOT, value)
}
