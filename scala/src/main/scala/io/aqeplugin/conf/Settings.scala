package io.aqeplugin.conf

/** The checked values of all keys, as read at one moment. */
final class Settings private (values: Map[String, Any]) {

  /** The value of `entry`, or its default when it is not set. */
  def apply[A](entry: ConfEntry[A]): A =
    // Only AqeConf.read fills the map, with values that this entry parsed.
    values.get(entry.key).fold(entry.default)(_.asInstanceOf[A])

  def mode: Mode = apply(AqeConf.ModeKey)

  /** The same values with one replaced. */
  def updated[A](entry: ConfEntry[A], value: A): Settings = new Settings(values.updated(entry.key, value))

  override def equals(other: Any): Boolean = other match {
    case that: Settings => AqeConf.All.forall(entry => this(entry) == that(entry))
    case _              => false
  }

  override def hashCode: Int = AqeConf.All.map(entry => this(entry)).hashCode
}

object Settings {

  /** Every key at its default. */
  val Default: Settings = new Settings(Map.empty)

  private[conf] def apply(values: Map[String, Any]): Settings = new Settings(values)
}
