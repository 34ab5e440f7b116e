package io.aqeplugin.rules

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.{AqeConf, Forced, ForcedMethod, Mode}
import io.aqeplugin.decide._
import io.aqeplugin.observe._

/** Chooses the strategy of a join once its build side has finished, and sets it as a hint. Spark then plans the join, its exchanges and its
  * reads.
  *
  * Runs on the logical plan, in which finished stages are leaves, before every re-planning. It handles only joins that
  * [[WaitAndPlaceFilters]] has estimated before. The author's hints stay; a hint of AQE's is replaced where it contradicts the decision.
  *   - broadcast, where Spark would sort: the build side fits into memory, and the waiting probe side is never shuffled
  *   - a shuffled hash join, where Spark would sort: the build side fits into the memory of a task, and its rows are looked up
  *   - no broadcast, where Spark would: a build side that is small when compressed but large in memory; where AQE prefers a shuffled hash join to a
  *     sort-merge join, Spark does that instead
  */
final case class ChooseJoinStrategy(session: SparkSession) extends SafeRule[LogicalPlan](session) {

  override protected def concerns(plan: LogicalPlan): Boolean =
    plan.containsPattern(TreePattern.JOIN) && RuleContext.known(session.sparkContext).exists(_.state.isLookedAt)

  override protected def change(plan: LogicalPlan, context: RuleContext): LogicalPlan =
    if (context.mode == Mode.Apply)
      plan.transformUpWithPruning(_.containsPattern(TreePattern.JOIN)) { case join: Join => chosen(join, context) }
    else plan

  private def chosen(join: Join, context: RuleContext): Join = {
    val hint = decided(join, context) match {
      case Some(decision) if hashesLarger(join, decision) => join.hint
      case Some(decision)                                 => PlannerHints.carryOut(decision, join.hint)
      case None                                           => unbroadcast(join, context)
    }
    if (hint eq join.hint) join else join.copy(hint = hint)
  }

  /** Whether the join would be hashed by the decision, but its probe side came out so small that Spark broadcasts it, which is better. */
  private def hashesLarger(join: Join, decision: JoinDecision): Boolean = decision.method.contains(Method.ShuffledHash) &&
    decision.reason.code != ReasonCode.Forced && {
      val side = decision.facts.buildSide.other
      val probe = side.of(join.left, join.right)
      FinishedJoin.isFinished(probe) && SparkThreshold.mayBroadcast(decision.facts.kind, side) &&
      probe.stats.sizeInBytes <= SparkThreshold.of(SQLConf.get).bytes
    }

  /** The hints of a join without a decision. Whichever side ends first, AQE may broadcast it, so one that is forced to join two shuffles is
    * hinted before.
    */
  private def unbroadcast(join: Join, context: RuleContext): JoinHint = {
    val forced = context.thresholds(AqeConf.Force)
    val isForced = (forced ne Forced.None) && EqualityJoin.of(join).filterNot(isBroadcast).flatMap(one =>
      context.state.knownNameOf(one.id)
    ).exists { id =>
      forced.of(id).exists(option => ChooseJoinStrategy.OfTwoShuffles(option.method)) && context.state.estimate(id).exists(_.hint.isEmpty)
    }
    if (isForced) PlannerHints.withoutBroadcast(join.hint) else join.hint
  }

  /** The decision. If a filter may still come in front of an exchange, which only a physical plan shows, and sorting is the cheapest without
    * one, the decision is carried out but not recorded: [[WaitAndPlaceFilters]] makes its own.
    */
  private def decidedNow(id: String, estimate: JoinFacts, finished: FinishedJoin, context: RuleContext): Option[JoinDecision] = {
    lazy val facts = finished.facts(estimate, context)
    val sorted = if (finished.mayBeFilteredLater(estimate)) facts.flatMap(sortMerge(_, context)) else None
    sorted.orElse(context.decideOnce(id)(facts))
  }

  private def sortMerge(facts: JoinFacts, context: RuleContext): Option[JoinDecision] =
    Some(DecideJoin.decide(facts.copy(memory = Some(context.memory)), context.thresholds)).filter(_.method.forall(_ == Method.SortMerge))

  private def isBroadcast(join: EqualityJoin): Boolean = Seq(Side.Left, Side.Right).exists(FinishedJoin.of(join, _).exists(_.isBroadcast))

  private def decided(join: Join, context: RuleContext): Option[JoinDecision] = {
    val state = context.state
    for {
      equal <- EqualityJoin.of(join)
      id <- state.knownNameOf(equal.id)
      known = state.decision(id)
      // Nearly all joins that have a decision.
      if !known.exists(_.choice == Strategy.LeaveToSpark)
      estimate <- state.estimate(id)
      if estimate.hint.isEmpty
      finished <- FinishedJoin.of(equal, estimate.buildSide)
      // A broadcast has no other method to choose, and only a physical plan shows which targets its filter can still reach.
      decision <- if (finished.isBroadcast) known else known.orElse(decidedNow(id, estimate, finished, context))
      // A decision made for the other build side, on another thread of the query, does not apply here; nor does that of another join of the same
      // name, such as one of two cached plans that were made of one.
      if decision.facts.buildSide == estimate.buildSide && finished.isNoLargerThan(decision.facts.build)
    } yield decision
  }
}

object ChooseJoinStrategy {
  private val OfTwoShuffles: Set[ForcedMethod] = Set(ForcedMethod.ShuffledHash, ForcedMethod.SortMerge)
}
