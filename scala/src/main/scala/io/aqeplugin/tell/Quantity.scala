package io.aqeplugin.tell

import java.math.{BigDecimal, RoundingMode}
import java.util.Locale

import io.aqeplugin.decide.Reason

/** Numbers in readable units: `12.3 MiB`, `1.2 s`, `4.5 M rows`, `36.0 %`. The command line uses the same units. */
object Quantity {
  private val BinaryUnits = Seq("B", "KiB", "MiB", "GiB", "TiB", "PiB")
  private val Thousands = Seq("", "k", "M", "G", "T", "P")

  /** `value` in a unit of [[Reason]]. */
  def of(value: Double, unit: String): String = of(value, unit, moreDigits = 0)

  /** The numbers of a reason; empty if it has none. */
  def of(reason: Reason): String = (reason.measured, reason.limit) match {
    case (Some(measured), Some(limit)) => against(measured, limit, reason.unit)
    case (measured, limit)             => measured.orElse(limit).fold("")(of(_, reason.unit))
  }

  /** A measured value and its limit, with as many more digits as make different numbers look different: `71.8 ms against 72.3 ms`. */
  private def against(measured: Double, limit: Double, unit: String): String = {
    def shown(moreDigits: Int): Seq[String] = Seq(measured, limit).map(of(_, unit, moreDigits))
    val digits = Iterator.range(0, MostMoreDigits).find(more => measured == limit || shown(more).distinct.size > 1)
    shown(digits.getOrElse(MostMoreDigits)).mkString(" against ")
  }

  private def of(value: Double, unit: String, moreDigits: Int): String = unit match {
    case "bytes"  => scaled(value, 1024, BinaryUnits, moreDigits)
    case "millis" => if (value.abs < 1000) s"${number(value, moreDigits)} ms" else s"${number(value / 1000, 1 + moreDigits)} s"
    case "ratio"  => s"${number(value * 100, (if (value != 0 && value.abs < 0.001) 4 else 1) + moreDigits)} %"
    case ""       => count(value, moreDigits)
    case other    => s"${count(value, moreDigits)} $other"
  }

  def of(value: Long, unit: String): String = of(value.toDouble, unit)

  def percent(share: Double): String = of(share, "ratio")

  private def count(value: Double, moreDigits: Int): String =
    if (value.abs >= 10000) scaled(value, 1000, Thousands, moreDigits)
    else number(value, if (value.isWhole) 0 else 2 + moreDigits)

  private def scaled(value: Double, step: Int, suffixes: Seq[String], moreDigits: Int): String = {
    val powers = Iterator.iterate(value)(_ / step).zip(suffixes.iterator)
    val (reduced, suffix) = powers.find(_._1.abs < step).getOrElse(value / math.pow(step.toDouble, suffixes.size - 1.0) -> suffixes.last)
    val whole = suffix == suffixes.head
    s"${number(reduced, if (!whole) 1 + moreDigits else if (value.isWhole) 0 else moreDigits)} $suffix".trim
  }

  /** Halves are rounded to even digits, as the command line does. */
  private def number(value: Double, digits: Int): String = {
    val rounded = if (value.isNaN || value.isInfinite) value else new BigDecimal(value).setScale(digits, RoundingMode.HALF_EVEN)
    s"%,.${digits}f".formatLocal(Locale.ROOT, rounded)
  }

  private val MostMoreDigits = 15
}
