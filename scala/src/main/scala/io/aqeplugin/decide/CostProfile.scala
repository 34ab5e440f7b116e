package io.aqeplugin.decide

import io.aqeplugin.conf.{AqeConf, Settings}

/** The coefficients of [[CostModel]]; what each one means is the doc of the conf key `spark.aqePlugin.cost.<field>`.
  *
  * Times are nanoseconds of one task thread, except the three that the driver pays alone (`hashBuildNanosPerRow`, `collectNanosPerByte`,
  * `jobLaunchNanos`) and `broadcastNanosPerByte`, which is paid once per executor.
  */
final case class CostProfile(
    shuffleNanosPerByte: Double,
    shuffleNanosPerRow: Double,
    sortNanosPerComparison: Double,
    mergeNanosPerRow: Double,
    hashBuildNanosPerRow: Double,
    hashProbeNanosPerRow: Double,
    collectNanosPerByte: Double,
    broadcastNanosPerByte: Double,
    filterBuildNanosPerRow: Double,
    filterCheckNanosPerRow: Double,
    filterHashNanosPerColumn: Double,
    rowPipelineNanosPerRow: Double,
    scanNanosPerByte: Double,
    jobLaunchNanos: Double,
    tieRatio: Double
) {

  /** `settings` with these coefficients. */
  def addTo(settings: Settings): Settings = settings
    .updated(AqeConf.CostShuffleNanosPerByte, shuffleNanosPerByte)
    .updated(AqeConf.CostShuffleNanosPerRow, shuffleNanosPerRow)
    .updated(AqeConf.CostSortNanosPerComparison, sortNanosPerComparison)
    .updated(AqeConf.CostMergeNanosPerRow, mergeNanosPerRow)
    .updated(AqeConf.CostHashBuildNanosPerRow, hashBuildNanosPerRow)
    .updated(AqeConf.CostHashProbeNanosPerRow, hashProbeNanosPerRow)
    .updated(AqeConf.CostCollectNanosPerByte, collectNanosPerByte)
    .updated(AqeConf.CostBroadcastNanosPerByte, broadcastNanosPerByte)
    .updated(AqeConf.CostFilterBuildNanosPerRow, filterBuildNanosPerRow)
    .updated(AqeConf.CostFilterCheckNanosPerRow, filterCheckNanosPerRow)
    .updated(AqeConf.CostFilterHashNanosPerColumn, filterHashNanosPerColumn)
    .updated(AqeConf.CostRowPipelineNanosPerRow, rowPipelineNanosPerRow)
    .updated(AqeConf.CostScanNanosPerByte, scanNanosPerByte)
    .updated(AqeConf.CostJobLaunchNanos, jobLaunchNanos)
    .updated(AqeConf.CostTieRatio, tieRatio)
}

object CostProfile {

  def from(settings: Settings): CostProfile = CostProfile(
    shuffleNanosPerByte = settings(AqeConf.CostShuffleNanosPerByte),
    shuffleNanosPerRow = settings(AqeConf.CostShuffleNanosPerRow),
    sortNanosPerComparison = settings(AqeConf.CostSortNanosPerComparison),
    mergeNanosPerRow = settings(AqeConf.CostMergeNanosPerRow),
    hashBuildNanosPerRow = settings(AqeConf.CostHashBuildNanosPerRow),
    hashProbeNanosPerRow = settings(AqeConf.CostHashProbeNanosPerRow),
    collectNanosPerByte = settings(AqeConf.CostCollectNanosPerByte),
    broadcastNanosPerByte = settings(AqeConf.CostBroadcastNanosPerByte),
    filterBuildNanosPerRow = settings(AqeConf.CostFilterBuildNanosPerRow),
    filterCheckNanosPerRow = settings(AqeConf.CostFilterCheckNanosPerRow),
    filterHashNanosPerColumn = settings(AqeConf.CostFilterHashNanosPerColumn),
    rowPipelineNanosPerRow = settings(AqeConf.CostRowPipelineNanosPerRow),
    scanNanosPerByte = settings(AqeConf.CostScanNanosPerByte),
    jobLaunchNanos = settings(AqeConf.CostJobLaunchNanos),
    tieRatio = settings(AqeConf.CostTieRatio)
  )
}
