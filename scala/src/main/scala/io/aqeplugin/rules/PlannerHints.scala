package io.aqeplugin.rules

import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.catalyst.plans.logical._

import io.aqeplugin.decide.{JoinDecision, JoinKind, Method, ReasonCode, Side, Strategy}

/** The hints on a join without an author's hint: AQE's, and the plugin's from an earlier planning. Only this class knows their effect on
  * Spark's planner.
  *
  * @param build
  *   the hint on the build side
  * @param probe
  *   the hint on the other side
  */
private[rules] final case class PlannerHints(build: Option[JoinStrategyHint], probe: Option[JoinStrategyHint]) {

  /** The strategy that Spark chooses. `SHUFFLE_HASH` takes precedence over a broadcast, `PREFER_SHUFFLE_HASH`, which Spark has up to 4.2, only over a sort-merge join.
    * Where both sides have such a hint, Spark hashes the smaller one, which may be the probe side: that is `LeaveToSpark`.
    *
    * @param broadcastsBySize
    *   whether Spark would broadcast the build side without hints
    * @param mayHash
    *   whether Spark can hash the build side of such a join partition by partition
    * @param hashesBySize
    *   whether AQE hashes the build side where it would else sort, without a hint
    */
  def sparkStrategy(broadcastsBySize: Boolean, mayHash: Boolean, hashesBySize: Boolean = false): Strategy =
    if (broadcastsBySize && !build.contains(SHUFFLE_HASH)) Strategy.Broadcast
    else if (!mayHash || !(isHashed(build) || hashesBySize)) Strategy.PlainSortMerge
    else if (isHashed(probe)) Strategy.LeaveToSpark
    else Strategy.ShuffledHash

  private def isHashed(side: Option[JoinStrategyHint]): Boolean = side.exists(PlannerHints.OfHashed(_))

  /** The hint on the build side that the decision needs; none if Spark carries it out without one. */
  def missing(decision: JoinDecision): Option[JoinStrategyHint] = {
    val sparkBroadcasts = decision.facts.sparkStrategy == Strategy.Broadcast
    decision.choice match {
      case Strategy.Broadcast    => if (build.contains(BROADCAST) || (sparkBroadcasts && isEmpty)) None else Some(BROADCAST)
      case Strategy.ShuffledHash => if (build.contains(SHUFFLE_HASH)) None else Some(SHUFFLE_HASH)
      case Strategy.LeaveToSpark => None
      case Strategy.FilteredSortMerge | Strategy.PlainSortMerge =>
        if (!sparkBroadcasts || build.contains(NO_BROADCAST_HASH) || build.contains(SHUFFLE_HASH)) None
        else if (build.exists(ThisSparkLine.preferredHash.contains)) Some(SHUFFLE_HASH)
        else Some(NO_BROADCAST_HASH)
    }
  }

  private def isEmpty: Boolean = build.isEmpty && probe.isEmpty
}

private[rules] object PlannerHints {

  val Empty: PlannerHints = PlannerHints(None, None)

  private val OfHashed: Set[JoinStrategyHint] = Set[JoinStrategyHint](SHUFFLE_HASH) ++ ThisSparkLine.preferredHash

  /** Whether Spark can hash `side` of such a join partition by partition, also a side of which all rows are kept (SPARK-32399, SPARK-36612). */
  def mayHash(kind: JoinKind, side: Side): Boolean = kind match {
    case JoinKind.LeftOuter | JoinKind.RightOuter | JoinKind.FullOuter => true
    case other                                                         => other.mayHash(side)
  }

  def of(hint: JoinHint, buildSide: Side): PlannerHints = {
    val (left, right) = (hint.leftHint.flatMap(_.strategy), hint.rightHint.flatMap(_.strategy))
    if (buildSide == Side.Left) PlannerHints(left, right) else PlannerHints(right, left)
  }

  /** The hints of a join with which Spark carries out the decision; `hint` itself if it already does. */
  def carryOut(decision: JoinDecision, hint: JoinHint): JoinHint = {
    val buildSide = decision.facts.buildSide
    val hinted = of(hint, buildSide).missing(decision).fold(hint) { strategy =>
      val info = Some(HintInfo(strategy = Some(strategy)))
      // AQE's hint on the other side stays: it may have demoted a broadcast of that side.
      if (buildSide == Side.Left) hint.copy(leftHint = info) else hint.copy(rightHint = info)
    }
    if (decision.method.contains(Method.SortMerge) && decision.reason.code == ReasonCode.Forced) withoutBroadcast(hinted) else hinted
  }

  /** `hint` with a hint against the broadcast of each side that has none. */
  def withoutBroadcast(hint: JoinHint): JoinHint = {
    def kept(side: Option[HintInfo]) = side.filter(_.strategy.isDefined).orElse(Some(HintInfo(strategy = Some(NO_BROADCAST_HASH))))
    val both = JoinHint(kept(hint.leftHint), kept(hint.rightHint))
    if (both == hint) hint else both
  }
}
