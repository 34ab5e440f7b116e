package io.aqeplugin.conf

import java.util.Locale

/** One conf key.
  *
  * @param unit
  *   unit of the value (`bytes`, `millis`, `nanos`, `rows`, `ratio`, …); empty for names and switches
  * @param allowed
  *   the accepted values; [[parse]] rejects any other
  * @param perSession
  *   each session has its own value; otherwise the key is read once, when the application starts
  * @param internal
  *   meant for this project's own tests, not for users
  * @param since
  *   the plugin version that introduced the key
  * @param problem
  *   which part of a text is wrong, for values of several parts
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
    since: String = "0.1.0",
    problem: String => Option[String] = (_: String) => None
) {

  /** Parses `text`, or returns an error with the key, the text and the allowed values. */
  def parse(text: String): Either[ConfError, A] =
    syntax.parse(text.trim).filter(allowed.contains).toRight(ConfError(key, text, allowed.text, problem(text.trim)))

  /** The value that a conf has, or the default: where it is not allowed, the rules say so by name. */
  def in(conf: String => Option[String]): A = conf(key).flatMap(parse(_).toOption).getOrElse(default)

  /** The default as a user would write it. */
  def defaultText: String = syntax.render(default)

  /** The key's name in Python, such as `filter_max_pass_rate`; none for a key that is internal or no threshold. */
  def threshold: Option[String] = Option.when(!internal && AqeConf.ThresholdKeys.exists(_.key == key)) {
    shortKey.replace('.', '_').replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT)
  }

  /** The key without the shared prefix, such as `filter.maxPassRate`. */
  def shortKey: String = key.stripPrefix(AqeConf.Prefix)
}

/** A conf value that is out of range or has the wrong type.
  *
  * @param problem
  *   which part of the value is wrong
  */
final case class ConfError(key: String, value: String, allowed: String, problem: Option[String] = None) {
  def message: String = s"Bad value for $key: ${problem.getOrElse(s"'$value'")}. Allowed: $allowed."
}

/** The values that a key accepts, with their description.
  *
  * @param nearest
  *   the nearest value that is accepted; the value itself where values have no order
  */
final case class Allowed[A](text: String, contains: A => Boolean, nearest: A => A)

object Allowed {

  /** Both ends included. */
  def between[A](low: A, high: A, syntax: ConfSyntax[A])(implicit order: Ordering[A]): Allowed[A] =
    Allowed(
      s"${syntax.render(low)} to ${syntax.render(high)}",
      value => order.lteq(low, value) && order.lteq(value, high),
      value => order.min(high, order.max(low, value))
    )

  def oneOf[A](values: Seq[A], syntax: ConfSyntax[A]): Allowed[A] =
    Allowed(values.map(syntax.render).mkString("one of ", ", ", ""), values.contains, identity)
}
