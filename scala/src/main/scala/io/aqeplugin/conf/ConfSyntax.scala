package io.aqeplugin.conf

import java.util.Locale

import scala.util.Try

/** The text form of the values of one type. `parse(render(a)) == Some(a)` for every `a`.
  *
  * @param name
  *   the type's name in `conf_table.json`
  */
final case class ConfSyntax[A](name: String, parse: String => Option[A], render: A => String)

object ConfSyntax {

  val Bool: ConfSyntax[Boolean] = ConfSyntax("boolean", text => text.toLowerCase(Locale.ROOT).toBooleanOption, _.toString)

  val Whole: ConfSyntax[Long] = ConfSyntax("integer", _.toLongOption, _.toString)

  /** Decimal numbers, without infinities and NaN. */
  val Number: ConfSyntax[Double] =
    ConfSyntax("number", text => text.toDoubleOption.filter(value => !value.isNaN && !value.isInfinity), renderNumber)

  /** A whole number of bytes with an optional suffix `k`, `m`, `g` or `t`: powers of 1024. */
  val Bytes: ConfSyntax[Long] = ConfSyntax("bytes", parseBytes, renderBytes)

  val ModeName: ConfSyntax[Mode] = ConfSyntax("name", text => Mode.fromName(text.toLowerCase(Locale.ROOT)), _.name)

  private val Suffixes = Seq("t" -> (1L << 40), "g" -> (1L << 30), "m" -> (1L << 20), "k" -> (1L << 10))
  private val BytesText = """(\d+)\s*([kmgt]?)b?""".r

  private def parseBytes(text: String): Option[Long] = text.toLowerCase(Locale.ROOT) match {
    case BytesText(digits, suffix) =>
      val unit = Suffixes.collectFirst { case (`suffix`, bytes) => bytes }.getOrElse(1L)
      Try(Math.multiplyExact(digits.toLong, unit)).toOption
    case _ => None
  }

  private def renderBytes(bytes: Long): String =
    Suffixes.collectFirst { case (suffix, unit) if bytes > 0 && bytes % unit == 0 => s"${bytes / unit}$suffix" }.getOrElse(bytes.toString)

  private def renderNumber(value: Double): String =
    if (value.isWhole && math.abs(value) < 1e15) value.toLong.toString else value.toString
}
