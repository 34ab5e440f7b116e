package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf

/** Rules out filters before prices are compared. */
object FilterChoice {

  /** Why a filter may not be built: it would change the answer or exceed a hard limit. */
  def illegal(facts: JoinFacts, filter: FilterSize, thresholds: Thresholds): Option[Reason] =
    if (facts.probe.started) Some(facts.whyStarted)
    else if (!facts.kind.mayFilter(facts.buildSide.other)) Some(Reason(ReasonCode.JoinType))
    else if (facts.filterObstacle.isDefined) facts.filterObstacle.map(Reason(_))
    else if (!facts.build.keys.supported) Some(Reason(ReasonCode.UnsupportedKeyType))
    else if (facts.probe.targets <= 0) Some(Reason(ReasonCode.NoTargetScan, Some(facts.probe.targets.toDouble), Some(1.0), "scans"))
    else if (filter.bytes > thresholds(AqeConf.FilterMaxBytes))
      Some(Reason(
        ReasonCode.FilterTooBig,
        Some(filter.bytes),
        Some(thresholds(AqeConf.FilterMaxBytes).toDouble),
        "bytes",
        AqeConf.FilterMaxBytes.key
      ))
    else None

  /** Why a legal filter is not worth pricing. */
  def gated(facts: JoinFacts, passRate: Double, thresholds: Thresholds): Option[Reason] =
    if (facts.build.rows < 0 || facts.probe.scanRows < 0) Some(Reason(ReasonCode.FactsMissing))
    else if (facts.probe.scanRows < thresholds(AqeConf.FilterMinProbeRows))
      Some(
        Reason(
          ReasonCode.TooFewRows,
          Some(facts.probe.scanRows.toDouble),
          Some(thresholds(AqeConf.FilterMinProbeRows).toDouble),
          "rows",
          AqeConf.FilterMinProbeRows.key
        )
      )
    else if (passRate > thresholds(AqeConf.FilterMaxPassRate))
      Some(Reason(
        ReasonCode.PassRateTooHigh,
        Some(passRate),
        Some(thresholds(AqeConf.FilterMaxPassRate)),
        "ratio",
        AqeConf.FilterMaxPassRate.key
      ))
    else None
}
