package io.aqeplugin.decide

import io.aqeplugin.conf.{AqeConf, ConfEntry, Settings}

/** What the decisions of one query are held against: the values of [[AqeConf.ThresholdKeys]], read once a query.
  *
  * @param broadcastMemoryKey
  *   the conf key that limits the memory of a broadcast: one of Spark's own where Spark allows less than `broadcast.maxMemoryBytes`
  * @param sparkThresholdKey
  *   the conf key of the size up to which Spark broadcasts by itself
  */
final case class Thresholds(
    settings: Settings,
    broadcastMemoryKey: String = AqeConf.BroadcastMaxMemoryBytes.key,
    sparkThresholdKey: String = "spark.sql.autoBroadcastJoinThreshold"
) {
  def apply[A](entry: ConfEntry[A]): A = settings(entry)

  /** The same with another value for `entry`. */
  def updated[A](entry: ConfEntry[A], value: A): Thresholds = copy(settings = settings.updated(entry, value))

  /** Only in tests: build whatever is legal, whether or not it pays. */
  def openGates: Boolean = this(AqeConf.TestOpenGates)

  /** A broadcast takes no more memory than `bytes`, the value of the conf `key`. */
  def withBroadcastAtMost(bytes: Long, key: String): Thresholds =
    if (bytes < this(AqeConf.BroadcastMaxMemoryBytes)) updated(AqeConf.BroadcastMaxMemoryBytes, bytes).copy(broadcastMemoryKey = key)
    else this

  /** A filter takes no more than `bytes`. */
  def withFiltersAtMost(bytes: Long): Thresholds = updated(AqeConf.FilterMaxBytes, math.min(this(AqeConf.FilterMaxBytes), bytes))
}

object Thresholds {
  val Default: Thresholds = Thresholds(Settings.Default)
}
