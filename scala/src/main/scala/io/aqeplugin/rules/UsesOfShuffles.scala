package io.aqeplugin.rules

import java.util.IdentityHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike

import io.aqeplugin.decide.{BroadcastChoice, Method, Side}
import io.aqeplugin.observe.FoundJoin
import io.aqeplugin.place.ReuseGuard

/** Which part of its probe side's shuffle is spared if a join does without, where Spark runs the shuffle once for several uses. */
private[rules] final class UsesOfShuffles(context: RuleContext, joins: Seq[FoundJoin], sideOf: FoundJoin => Side) {

  // By identity: comparing plans walks them.
  private lazy val joinsOfShuffles = {
    val found = new IdentityHashMap[SparkPlan, FoundJoin]().asScala
    for (join <- joins; own <- ownShuffle(join, sideOf(join))) found.update(own, join)
    found
  }

  /** The part, see [[io.aqeplugin.decide.PathStep.Shared]]; none if the join shuffles no probe side, or its shuffle has started. */
  def share(join: FoundJoin, buildSide: Side, guard: ReuseGuard): Option[Double] = ownShuffle(join, buildSide).map { own =>
    val others = guard.copies(own).filterNot(_ eq own).map(use)
    if (others.contains(Use.Stays)) 0.0 else 1.0 / (1 + others.count(_ == Use.Open))
  }

  private sealed trait Use
  private object Use {

    /** It needs the shuffle whatever other uses do. */
    case object Stays extends Use

    /** Its join may be broadcast. */
    case object Open extends Use

    /** Its join is about to be broadcast. */
    case object Leaves extends Use
  }

  /** A stage has started, and what is not the probe side of a join on equalities stays as Spark planned it. */
  private def use(copy: SparkPlan): Use = joinsOfShuffles.get(copy).fold[Use](Use.Stays) { join =>
    val name = context.state.nameOf(join.id)
    context.state.decision(name) match {
      case Some(decision) => if (decision.method.contains(Method.Broadcast)) Use.Leaves else Use.Stays
      case None           =>
        val mayBroadcast = context.state.estimate(name).fold(SparkThreshold.mayBroadcast(join.kind, sideOf(join))) {
          BroadcastChoice.ruledOut(_, context.thresholds).isEmpty
        }
        if (mayBroadcast) Use.Open else Use.Stays
    }
  }

  private def ownShuffle(join: FoundJoin, buildSide: Side): Option[ShuffleExchangeLike] =
    ProbePath.ownShuffle(join.node, join.child(buildSide.other))
}
