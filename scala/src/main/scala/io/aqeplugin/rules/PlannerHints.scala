package io.aqeplugin.rules

import org.apache.spark.sql.catalyst.plans.logical._

import io.aqeplugin.decide.{JoinDecision, Side, Strategy}

/** The hints on a join whose author gave it none: those of AQE, and of the plugin from an earlier planning. What they make Spark do is known only here.
  *
  * @param build
  *   on the build side
  * @param probe
  *   on the other side
  */
private[rules] final case class PlannerHints(build: Option[JoinStrategyHint], probe: Option[JoinStrategyHint]) {

  /** What Spark does with the join. `LeaveToSpark` stands for a shuffled hash join: `SHUFFLE_HASH` asks for it before a broadcast, `PREFER_SHUFFLE_HASH`
    * only before a sort-merge join.
    *
    * @param broadcastsBySize
    *   whether it would broadcast the build side, were there no hints
    */
  def sparkStrategy(broadcastsBySize: Boolean): Strategy =
    if (broadcastsBySize && !build.contains(SHUFFLE_HASH)) Strategy.Broadcast
    else if (build.contains(SHUFFLE_HASH) || build.contains(PREFER_SHUFFLE_HASH)) Strategy.LeaveToSpark
    else Strategy.PlainSortMerge

  /** The hint on the build side without which Spark would not do what was decided; none when it does. */
  def missing(decision: JoinDecision): Option[JoinStrategyHint] = {
    val sparkBroadcasts = decision.facts.sparkStrategy == Strategy.Broadcast
    decision.choice match {
      case Strategy.Broadcast    => if (build.contains(BROADCAST) || (sparkBroadcasts && isEmpty)) None else Some(BROADCAST)
      case Strategy.LeaveToSpark => None
      case Strategy.FilteredSortMerge | Strategy.PlainSortMerge =>
        if (!sparkBroadcasts || build.contains(NO_BROADCAST_HASH) || build.contains(SHUFFLE_HASH)) None
        else if (build.contains(PREFER_SHUFFLE_HASH)) Some(SHUFFLE_HASH)
        else Some(NO_BROADCAST_HASH)
    }
  }

  private def isEmpty: Boolean = build.isEmpty && probe.isEmpty
}

private[rules] object PlannerHints {

  val Empty: PlannerHints = PlannerHints(None, None)

  def of(hint: JoinHint, buildSide: Side): PlannerHints = {
    val (left, right) = (hint.leftHint.flatMap(_.strategy), hint.rightHint.flatMap(_.strategy))
    if (buildSide == Side.Left) PlannerHints(left, right) else PlannerHints(right, left)
  }

  /** The hints of a join with which Spark does what was decided; `hint` itself when it does so already. */
  def carryOut(decision: JoinDecision, hint: JoinHint): JoinHint = {
    val buildSide = decision.facts.buildSide
    of(hint, buildSide).missing(decision).fold(hint) { strategy =>
      val info = Some(HintInfo(strategy = Some(strategy)))
      // What AQE says of the other side still holds: it may have demoted a broadcast of it.
      if (buildSide == Side.Left) hint.copy(leftHint = info) else hint.copy(rightHint = info)
    }
  }
}
