package io.aqeplugin.observe

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide.{ClusterFacts, Thresholds}

/** What the rules of one query work with, and where the query comes from: read when it is planned first and kept until it ends. */
final case class QueryConf(mode: Mode, thresholds: Thresholds, cluster: ClusterFacts, pruning: PruningBuilds, origin: QueryOrigin)
