package io.aqeplugin.observe

import io.aqeplugin.decide._

/** The estimate of a join before its build side has run.
  *
  * @param buildSide
  *   fixed once one side runs: a change would waste what the other side waited for
  * @param hint
  *   the hint of the query's author
  * @param waiting
  *   whether the probe side waits, with the numbers; none when the build side had already finished
  * @param filterObstacle
  *   why the plan allows no filter, if it does not
  */
final case class JoinEstimate(
    joinId: String,
    kind: JoinKind,
    keys: Seq[String],
    buildSide: Side,
    build: BuildFacts,
    probe: ProbeFacts,
    cluster: ClusterFacts,
    hint: Option[String],
    canBroadcast: Boolean,
    filterObstacle: Option[ReasonCode],
    waiting: Option[WaitDecision]
) {

  /** The facts of the join, completed from the present plan. */
  def facts(build: BuildFacts, probe: ProbeFacts, sparkStrategy: Strategy, filterObstacle: Option[ReasonCode]): JoinFacts =
    JoinFacts(joinId, kind, keys, buildSide, build, probe, cluster, hint, sparkStrategy, canBroadcast, filterObstacle, waiting)
}
