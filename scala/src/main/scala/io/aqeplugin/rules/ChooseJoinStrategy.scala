package io.aqeplugin.rules

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide._
import io.aqeplugin.observe._

/** Chooses the strategy of a join once its build side has finished, and sets it as a hint. Spark then plans the join, its exchanges and its
  * reads.
  *
  * Runs on the logical plan in which finished stages stand as leaves, before every re-planning. Takes up only joins that [[WaitAndPlaceFilters]]
  * has seen before, with the estimates of that time. A hint of the query's author stays; one of AQE's own is replaced where it stands against what
  * was decided.
  *   - broadcast, where Spark would sort: the build side fits in memory, and the probe side, which waited, is never shuffled
  *   - no broadcast, where Spark would: a build side that is small when compressed and large in memory; where AQE prefers a shuffled hash join to a
  *     sort-merge join, Spark does that instead
  */
final case class ChooseJoinStrategy(session: SparkSession) extends SafeRule[LogicalPlan](session) {

  override protected def change(plan: LogicalPlan, context: RuleContext): LogicalPlan =
    if (context.mode == Mode.Apply && plan.containsPattern(TreePattern.JOIN))
      plan.transformUpWithPruning(_.containsPattern(TreePattern.JOIN)) { case join: Join => chosen(join, context) }
    else plan

  private def chosen(join: Join, context: RuleContext): Join = {
    val hint = decided(join, context).fold(join.hint)(PlannerHints.carryOut(_, join.hint))
    if (hint eq join.hint) join else join.copy(hint = hint)
  }

  private def decided(join: Join, context: RuleContext): Option[JoinDecision] = {
    val state = context.state
    for {
      equal <- EqualityJoin.of(join)
      known = state.decision(equal.id)
      // Nearly all joins that have a decision.
      if !known.exists(_.choice == Strategy.LeaveToSpark)
      estimate <- state.estimate(equal.id)
      if estimate.hint.isEmpty
      finished <- FinishedJoin.of(equal, estimate.buildSide)
      decision <- known.orElse(finished.facts(estimate, context.mode).map { facts =>
        state.decideOnce(equal.id)(DecideJoin.decide(facts, context.thresholds))
      })
      // Decided by another side, on another thread of the query, it says nothing of this one.
      if decision.facts.buildSide == estimate.buildSide
    } yield decision
  }
}
