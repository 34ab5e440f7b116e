package io.aqeplugin.tell

import java.util.Locale

/** Numbers in readable units: `12.3 MiB`, `1.2 s`, `4.5 M rows`, `36.0 %`. The command line formats them in the same way. */
object Quantity {
  private val BinaryUnits = Seq("B", "KiB", "MiB", "GiB", "TiB", "PiB")
  private val Thousands = Seq("", "k", "M", "G", "T", "P")

  /** `value` in a unit of [[io.aqeplugin.decide.Reason]]. */
  def of(value: Double, unit: String): String = unit match {
    case "bytes"  => scaled(value, 1024, BinaryUnits)
    case "millis" => if (value.abs < 1000) s"${format("%,.0f", value)} ms" else s"${format("%,.1f", value / 1000)} s"
    case "ratio"  => s"${format(if (value != 0 && value.abs < 0.001) "%.4f" else "%.1f", value * 100)} %"
    case ""       => count(value)
    case other    => s"${count(value)} $other"
  }

  def of(value: Long, unit: String): String = of(value.toDouble, unit)

  def percent(share: Double): String = of(share, "ratio")

  private def count(value: Double): String =
    if (value.abs >= 10000) scaled(value, 1000, Thousands)
    else format(if (value.isWhole) "%,.0f" else "%,.2f", value)

  private def scaled(value: Double, step: Int, suffixes: Seq[String]): String = {
    val powers = Iterator.iterate(value)(_ / step).zip(suffixes.iterator)
    val (number, suffix) = powers.find(_._1.abs < step).getOrElse(value / math.pow(step.toDouble, suffixes.size - 1.0) -> suffixes.last)
    val whole = suffix == suffixes.head
    s"${format(if (whole) "%,.0f" else "%,.1f", number)} $suffix".trim
  }

  private def format(pattern: String, value: Double): String = pattern.formatLocal(Locale.ROOT, value)
}
