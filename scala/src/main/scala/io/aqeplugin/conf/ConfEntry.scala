package io.aqeplugin.conf

import java.util.Locale

/** One conf key.
  *
  * @param unit
  *   unit of the value in the SI or binary sense (`bytes`, `millis`, `nanos`, `rows`, `ratio`, …); empty for names and switches
  * @param allowed
  *   the values that are accepted; [[parse]] refuses any other
  * @param perSession
  *   each session has a value of its own; otherwise the key is read once, when the application starts
  * @param internal
  *   meant for this project's own tests, not for users
  * @param since
  *   plugin version that introduced it
  */
final case class ConfEntry[A](
    key: String,
    doc: String,
    unit: String,
    default: A,
    syntax: ConfSyntax[A],
    allowed: Allowed[A],
    perSession: Boolean = true,
    internal: Boolean = false,
    since: String = "0.1.0"
) {

  /** The value that `text` stands for, or an error that names the key, the text and what is allowed. */
  def parse(text: String): Either[ConfError, A] =
    syntax.parse(text.trim).filter(allowed.contains).toRight(ConfError(key, text, allowed.text))

  /** The default as a user would write it. */
  def defaultText: String = syntax.render(default)

  /** What Python calls the key, if decisions are held against it and users may set it: `filter_max_pass_rate`. */
  def threshold: Option[String] = Option.when(!internal && AqeConf.ThresholdKeys.exists(_.key == key)) {
    shortKey.replace('.', '_').replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT)
  }

  /** The key without the prefix that all of them share, e.g. `filter.maxPassRate`. */
  def shortKey: String = key.stripPrefix(AqeConf.Prefix)
}

/** A conf value that is not in the allowed range, or not of the key's type. */
final case class ConfError(key: String, value: String, allowed: String) {
  def message: String = s"Bad value for $key: '$value'. Allowed: $allowed."
}

/** The values a key accepts, and their wording. */
final case class Allowed[A](text: String, contains: A => Boolean)

object Allowed {

  /** Both ends included. */
  def between[A](low: A, high: A, syntax: ConfSyntax[A])(implicit order: Ordering[A]): Allowed[A] =
    Allowed(s"${syntax.render(low)} to ${syntax.render(high)}", value => order.lteq(low, value) && order.lteq(value, high))

  def oneOf[A](values: Seq[A], syntax: ConfSyntax[A]): Allowed[A] =
    Allowed(values.map(syntax.render).mkString("one of ", ", ", ""), values.contains)
}
