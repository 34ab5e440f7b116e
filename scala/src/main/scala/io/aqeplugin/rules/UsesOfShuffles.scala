package io.aqeplugin.rules

import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.decide.{BroadcastChoice, DecideJoin, JoinFacts, Method, Side}
import io.aqeplugin.observe.{ByIdentity, FoundJoin}
import io.aqeplugin.place.ReuseGuard

/** Which part of its probe side's shuffle is spared if a join does without, where Spark runs the shuffle once for several uses.
  *
  * @param sideOf
  *   the build side of a join
  */
private[rules] final class UsesOfShuffles(context: RuleContext, joins: PlanJoins, sideOf: FoundJoin => Side) {
  import UsesOfShuffles._

  // By identity: comparing plans walks them.
  private lazy val joinsOfShuffles = ByIdentity.of[SparkPlan, (FoundJoin, Side)](
    for (join <- joins.keyed; side <- Side.All; own <- ProbePath.ownShuffle(join.node, join.child(side))) yield own -> ((join, side))
  )

  /** The part, see [[io.aqeplugin.decide.PathStep.Shared]]; none if the join cannot be broadcast, or has no such shuffle, or the shuffle has
    * started.
    */
  def share(join: FoundJoin, buildSide: Side, guard: ReuseGuard): Option[Double] =
    ProbePath.ownShuffle(join.node, join.child(buildSide.other)).filter(_ => SparkThreshold.mayBroadcast(join.kind, buildSide)).map { own =>
      val others = guard.otherUses(own).map(use)
      if (others.contains(Use.Stays)) 0.0 else 1.0 / (1 + others.count(_ == Use.Open))
    }

  /** A stage has started, and what is not the probe side of a join on equalities stays as Spark planned it. */
  private def use(copy: SparkPlan): Use = joinsOfShuffles.get(copy) match {
    case Some((join, side)) if sideOf(join) == side.other && !joins.isUsedByPruning(join) =>
      val name = joins.nameOf(join)
      context.state.decision(name) match {
        case Some(decision) => if (decision.method.contains(Method.Broadcast)) Use.Leaves else Use.Stays
        case None           =>
          val isOpen = context.state.estimate(name).fold(SparkThreshold.mayBroadcast(join.kind, side.other))(mayLeave)
          if (isOpen) Use.Open else Use.Stays
      }
    case _ => Use.Stays
  }

  private def mayLeave(estimate: JoinFacts): Boolean =
    BroadcastChoice.ruledOut(estimate, context.thresholds).isEmpty && DecideJoin.whyFixed(estimate).isEmpty
}

private[rules] object UsesOfShuffles {

  /** What becomes of another use of a shuffle. */
  private sealed trait Use
  private object Use {

    /** It needs the shuffle whatever other uses do. */
    case object Stays extends Use

    /** Its join may be broadcast. */
    case object Open extends Use

    /** Its join is about to be broadcast. */
    case object Leaves extends Use
  }
}
