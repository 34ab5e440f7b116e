package io.aqeplugin.observe

import io.aqeplugin.decide._

/** What is known of one join while its query runs.
  *
  * @param buildSide
  *   settled as soon as one side runs: if it flipped after that, what the other side waited for would be thrown away
  * @param probe
  *   the probe side as it was estimated before anything ran
  * @param waiting
  *   whether the probe side is held back, with the numbers
  * @param settled
  *   one side runs or has run in one of the query's plans, of which dynamic partition pruning makes its own: the state stays as it is in all of them
  * @param filterObstacle
  *   what in the plan speaks against a filter
  */
final case class JoinState(
    joinId: String,
    kind: JoinKind,
    keys: Seq[String],
    buildSide: Side,
    probe: ProbeFacts,
    cluster: ClusterFacts,
    hint: Option[String],
    canBroadcast: Boolean,
    buildEstimate: BuildFacts,
    waiting: Option[WaitDecision],
    settled: Boolean = false,
    filterObstacle: Option[ReasonCode] = None
)
