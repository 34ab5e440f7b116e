package io.aqeplugin.observe

import io.aqeplugin.decide._

/** A join as it was estimated before its build side had run.
  *
  * @param buildSide
  *   once one side runs it stays: if it flipped after that, what the other side waited for would be thrown away
  * @param hint
  *   the hint of the query's author
  * @param waiting
  *   whether the probe side is held back, with the numbers; none when the build side had finished by then
  * @param filterObstacle
  *   what in the plan speaks against a filter
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

  /** The facts of the join, with what the plan shows by now. */
  def facts(build: BuildFacts, probe: ProbeFacts, sparkStrategy: Strategy, filterObstacle: Option[ReasonCode]): JoinFacts =
    JoinFacts(joinId, kind, keys, buildSide, build, probe, cluster, hint, sparkStrategy, canBroadcast, filterObstacle, waiting)
}
