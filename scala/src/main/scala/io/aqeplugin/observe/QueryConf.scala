package io.aqeplugin.observe

import io.aqeplugin.conf.{Mode, TrialArm}
import io.aqeplugin.decide.{ClusterFacts, Thresholds}

/** What the rules of one query work with, and where the query comes from: read when it is planned first and kept until it ends.
  *
  * @param arm
  *   the side of a trial that it is on; none when nothing is tried
  */
final case class QueryConf(
    mode: Mode,
    thresholds: Thresholds,
    cluster: ClusterFacts,
    pruning: PruningBuilds,
    origin: QueryOrigin,
    arm: Option[TrialArm]
)
