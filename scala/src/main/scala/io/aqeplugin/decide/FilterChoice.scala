package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf.{CostFileOpenNanos, CostJobLaunchNanos, FilterMaxBytes, FilterMaxPassRate, FilterMinProbeRows}

/** Rules out filters before prices are compared. */
object FilterChoice {

  /** Why a filter may not be built: it would change the answer or exceed a hard limit. */
  def illegal(facts: JoinFacts, filter: FilterSize, thresholds: Thresholds): Option[Reason] =
    if (facts.probe.started) Some(facts.whyStarted)
    else if (!facts.kind.mayFilter(facts.buildSide.other)) Some(Reason(ReasonCode.JoinType))
    else if (facts.filterObstacle.isDefined) facts.filterObstacle.map(Reason(_))
    else if (!facts.build.keys.supported) Some(Reason(ReasonCode.UnsupportedKeyType))
    else
      Reason.below(ReasonCode.NoTargetScan, facts.probe.targets.toDouble, 1, "scans", confKey = "").map(facts.whyReleased.getOrElse(_))
        .orElse(Reason.above(ReasonCode.FilterTooBig, filter.bytes, thresholds(FilterMaxBytes).toDouble, "bytes", FilterMaxBytes.key))

  /** Why a legal filter is not worth pricing. */
  def gated(facts: JoinFacts, passRate: Double, thresholds: Thresholds): Option[Reason] =
    if (facts.build.rows < 0 || facts.probe.scanRows < 0) Some(Reason(ReasonCode.FactsMissing))
    else {
      val (rows, fewest) = (facts.probe.scanRows.toDouble, thresholds(FilterMinProbeRows).toDouble)
      Reason.below(ReasonCode.TooFewRows, rows, fewest, "rows", FilterMinProbeRows.key)
        .orElse(Reason.above(ReasonCode.PassRateTooHigh, passRate, thresholds(FilterMaxPassRate), "ratio", FilterMaxPassRate.key))
        .filterNot(_ => sparesOpening(facts, passRate, thresholds))
    }

  /** Whether the files that a filter leaves out take longer to open than a filter to be launched, whatever their rows. */
  private def sparesOpening(facts: JoinFacts, passRate: Double, thresholds: Thresholds): Boolean = {
    val files = facts.probe.prunableFiles * (1 - passRate) + facts.probe.keyless.fold(0L)(_.files)
    files * thresholds(CostFileOpenNanos) / math.max(1, facts.cluster.slots) > thresholds(CostJobLaunchNanos)
  }
}
