package io.aqeplugin.conf

/** The checked values of all keys, as read at one moment.
  *
  * @param values
  *   those that are not the default, by key
  */
final case class Settings private (private val values: Map[String, Any]) {

  /** The value of `entry`, or its default when it is not set. */
  def apply[A](entry: ConfEntry[A]): A =
    // Only `updated` fills the map.
    values.get(entry.key).fold(entry.default)(_.asInstanceOf[A])

  def mode: Mode = apply(AqeConf.ModeKey)

  /** The same values with one replaced. */
  def updated[A](entry: ConfEntry[A], value: A): Settings =
    Settings(if (value == entry.default) values - entry.key else values.updated(entry.key, value))
}

object Settings {

  /** Every key at its default. */
  val Default: Settings = Settings(Map.empty[String, Any])
}
