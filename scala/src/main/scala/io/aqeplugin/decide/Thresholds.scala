package io.aqeplugin.decide

import io.aqeplugin.conf.{AqeConf, ConfEntry, Settings}

/** Everything a decision is held against, read once per rule call. A field `a.b` here is the conf key `spark.aqePlugin.a.b`; only `waiting` is
  * `spark.aqePlugin.wait`, a name that the JVM has taken.
  *
  * @param openGates
  *   tests only: build whatever is legal, whether or not it pays
  */
final case class Thresholds(
    filter: FilterLimits,
    broadcast: BroadcastLimits,
    waiting: WaitLimits,
    cost: CostProfile,
    openGates: Boolean
) {

  /** The settings that these thresholds come from; `Thresholds.from(t.toSettings) == t`. */
  def toSettings: Settings = cost.addTo(
    Settings.Default
      .updated(AqeConf.FilterFalsePositiveRate, filter.falsePositiveRate)
      .updated(AqeConf.FilterMaxBytes, filter.maxBytes)
      .updated(AqeConf.FilterExactMaxKeys, filter.exactMaxKeys)
      .updated(AqeConf.FilterInListMaxKeys, filter.inListMaxKeys)
      .updated(AqeConf.FilterBuildTimeout, filter.buildTimeoutMillis)
      .updated(AqeConf.FilterMaxPassRate, filter.maxPassRate)
      .updated(AqeConf.FilterMaxPerScan, filter.maxPerScan.toLong)
      .updated(AqeConf.FilterMinProbeRows, filter.minProbeRows)
      .updated(AqeConf.FilterCompositeFactor, filter.compositeFactor)
      .updated(AqeConf.SelfDisableSampleBatches, filter.selfDisable.sampleBatches)
      .updated(AqeConf.SelfDisableMaxPassRate, filter.selfDisable.maxPassRate)
      .updated(AqeConf.SelfDisableSkipBatches, filter.selfDisable.skipBatches)
      .updated(AqeConf.BroadcastMaxMemoryBytes, broadcast.maxMemoryBytes)
      .updated(AqeConf.BroadcastMaxRows, broadcast.maxRows)
      .updated(AqeConf.BroadcastHashBytesPerRow, broadcast.hashBytesPerRow)
      .updated(AqeConf.WaitSavingShare, waiting.savingShare)
      .updated(AqeConf.WaitKeptPerPredicate, waiting.keptPerPredicate)
      .updated(AqeConf.WaitMaxIdle, waiting.maxIdleMillis)
      .updated(AqeConf.TestOpenGates, openGates)
  )
}

/** When a filter is built, of which kind and size.
  *
  * @param falsePositiveRate
  *   target of a Bloom filter, in (0, 1)
  * @param maxBytes
  *   hard cap of one filter
  * @param exactMaxKeys
  *   most distinct keys of an exact set
  * @param inListMaxKeys
  *   most distinct keys that are pushed into a scan as literals
  * @param buildTimeoutMillis
  *   longest wait for a filter whose build side is done
  * @param maxPassRate
  *   largest expected share of passing rows
  * @param maxPerScan
  *   most filters on one scan
  * @param minProbeRows
  *   fewest rows worth checking
  * @param compositeFactor
  *   slack on the pass rate of a key of several columns, see [[PassRate]]
  */
final case class FilterLimits(
    falsePositiveRate: Double,
    maxBytes: Long,
    exactMaxKeys: Long,
    inListMaxKeys: Long,
    buildTimeoutMillis: Long,
    maxPassRate: Double,
    maxPerScan: Int,
    minProbeRows: Long,
    compositeFactor: Double,
    selfDisable: SelfDisable
)

/** When a task stops checking a filter that removes little, in batches of rows. */
final case class SelfDisable(sampleBatches: Long, maxPassRate: Double, skipBatches: Long)

/** What may be broadcast.
  *
  * @param maxMemoryBytes
  *   limit on rows × (bytes of a row in memory + `hashBytesPerRow`)
  * @param memoryKey
  *   the conf key that set it: one of Spark's own where Spark allows less
  * @param thresholdKey
  *   the conf key of the size up to which Spark broadcasts by itself
  */
final case class BroadcastLimits(
    maxMemoryBytes: Long,
    maxRows: Long,
    hashBytesPerRow: Long,
    memoryKey: String = AqeConf.BroadcastMaxMemoryBytes.key,
    thresholdKey: String = "spark.sql.autoBroadcastJoinThreshold"
) {

  /** No more than `bytes`, which is what the conf `key` allows. */
  def atMost(bytes: Long, key: String): BroadcastLimits =
    if (bytes < maxMemoryBytes) copy(maxMemoryBytes = bytes, memoryKey = key) else this
}

/** When a probe side is held back, see [[WaitPrice]]. */
final case class WaitLimits(savingShare: Double, keptPerPredicate: Double, maxIdleMillis: Long)

object Thresholds {

  def from(settings: Settings): Thresholds = Thresholds(
    FilterLimits(
      falsePositiveRate = settings(AqeConf.FilterFalsePositiveRate),
      maxBytes = settings(AqeConf.FilterMaxBytes),
      exactMaxKeys = settings(AqeConf.FilterExactMaxKeys),
      inListMaxKeys = settings(AqeConf.FilterInListMaxKeys),
      buildTimeoutMillis = settings(AqeConf.FilterBuildTimeout),
      maxPassRate = settings(AqeConf.FilterMaxPassRate),
      maxPerScan = settings(AqeConf.FilterMaxPerScan).toInt,
      minProbeRows = settings(AqeConf.FilterMinProbeRows),
      compositeFactor = settings(AqeConf.FilterCompositeFactor),
      selfDisable = SelfDisable(
        sampleBatches = settings(AqeConf.SelfDisableSampleBatches),
        maxPassRate = settings(AqeConf.SelfDisableMaxPassRate),
        skipBatches = settings(AqeConf.SelfDisableSkipBatches)
      )
    ),
    BroadcastLimits(
      maxMemoryBytes = settings(AqeConf.BroadcastMaxMemoryBytes),
      maxRows = settings(AqeConf.BroadcastMaxRows),
      hashBytesPerRow = settings(AqeConf.BroadcastHashBytesPerRow)
    ),
    WaitLimits(
      savingShare = settings(AqeConf.WaitSavingShare),
      keptPerPredicate = settings(AqeConf.WaitKeptPerPredicate),
      maxIdleMillis = settings(AqeConf.WaitMaxIdle)
    ),
    CostProfile.from(settings),
    openGates = settings(AqeConf.TestOpenGates)
  )

  val Default: Thresholds = from(Settings.Default)

  /** The keys that thresholds are made of: all but those that a decision does not look at. */
  val Entries: Seq[ConfEntry[_]] =
    AqeConf.PerSession.filterNot(_ == AqeConf.ModeKey)
}
