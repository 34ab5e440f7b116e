package io.aqeplugin.observe

import io.aqeplugin.conf.{Mode, TrialArm}
import io.aqeplugin.decide.{ClusterFacts, Thresholds}

/** The cluster as it was when a query first needed to know it: a query that can win little asks for no executors. */
final class ClusterSeen(read: => ClusterFacts, running: => Int = 0) {
  lazy val facts: ClusterFacts = read

  /** Tasks of other queries that ran then; 0 if the query's own may have run too. */
  lazy val busySlots: Int = running
}

/** The settings and the origin of one query, read when it is first planned and kept until it ends.
  *
  * @param arm
  *   the query's arm; none without a canary
  * @param engine
  *   the engine that carries the query out after the plugin has seen its plans; none if Spark does
  */
final case class QueryConf(
    mode: Mode,
    thresholds: Thresholds,
    cluster: ClusterSeen,
    pruning: PruningBuilds,
    origin: QueryOrigin,
    arm: Option[TrialArm],
    plans: QueryPlans = QueryPlans.None,
    engine: Option[Engine] = None
)
