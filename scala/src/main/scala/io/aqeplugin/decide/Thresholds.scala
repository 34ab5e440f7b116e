package io.aqeplugin.decide

import io.aqeplugin.conf.{AqeConf, ConfEntry, Settings}

/** The thresholds of one query: the values of [[AqeConf.ThresholdKeys]], read once per query.
  *
  * @param broadcastMemoryKey
  *   the conf key that limits the memory of a broadcast: Spark's own key where Spark allows less than `broadcast.maxMemoryBytes`
  * @param sparkThresholdKey
  *   the conf key with the size up to which Spark broadcasts by itself
  */
final case class Thresholds(
    settings: Settings,
    broadcastMemoryKey: String = AqeConf.BroadcastMaxMemoryBytes.key,
    sparkThresholdKey: String = "spark.sql.autoBroadcastJoinThreshold"
) {
  def apply[A](entry: ConfEntry[A]): A = settings(entry)

  /** The same with another value for `entry`. */
  def updated[A](entry: ConfEntry[A], value: A): Thresholds = copy(settings = settings.updated(entry, value))

  /** Whether the first of two prices is lower by more than the share that counts as a tie. */
  def isClearlyCheaper(nanos: Double, than: Double): Boolean = than - nanos > this(AqeConf.CostTieRatio) * than

  /** For tests: do everything legal, whether or not it pays. */
  def openGates: Boolean = this(AqeConf.TestOpenGates)

  /** Limits the memory of a broadcast to `bytes`, the value of the conf `key`. */
  def withBroadcastAtMost(bytes: Long, key: String): Thresholds =
    if (bytes < this(AqeConf.BroadcastMaxMemoryBytes)) updated(AqeConf.BroadcastMaxMemoryBytes, bytes).copy(broadcastMemoryKey = key)
    else this

  /** Limits the keys that a build side keeps while it runs. */
  def withSketchesAtMost(keys: Long): Thresholds = updated(AqeConf.SketchMaxKeys, math.min(this(AqeConf.SketchMaxKeys), keys))

  /** With the prices of the operators that carry a plan out, an engine's or Spark's, and of the filters that they check. */
  def of(engine: Option[String]): Thresholds = if (engine.isDefined) ofEngine else this

  // A decision is priced many times.
  private lazy val ofEngine: Thresholds = {
    for ((ratio, prices) <- Thresholds.ScaledBy; price <- prices) yield (price, this(price) * this(ratio))
  }.foldLeft(this) { case (those, (price, scaled)) => those.updated(price, scaled) }

  /** Limits the size of a filter to `bytes`. */
  def withFiltersAtMost(bytes: Long): Thresholds = updated(AqeConf.FilterMaxBytes, math.min(this(AqeConf.FilterMaxBytes), bytes))
}

object Thresholds {
  val Default: Thresholds = Thresholds(Settings.Default)

  /** The ratios of an engine, each with the prices that it multiplies: of operators, and of filters. */
  val ScaledBy: Seq[(ConfEntry[Double], Seq[ConfEntry[Double]])] = {
    import AqeConf._
    val operators = Seq(
      CostShuffleNanosPerByte,
      CostShuffleNanosPerRow,
      CostSortNanosPerComparison,
      CostMergeNanosPerRow,
      CostHashBuildNanosPerRow,
      CostHashProbeNanosPerRow,
      CostRowPipelineNanosPerRow,
      CostScanNanosPerByte
    )
    Seq(CostEngineRatio -> operators, CostEngineFilterRatio -> Seq(CostFilterBuildNanosPerRow, CostFilterCheckNanosPerRow))
  }
}
