package io.aqeplugin.rules

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, QueryStageExec}
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide._
import io.aqeplugin.exec.PlainKey
import io.aqeplugin.observe._
import io.aqeplugin.place.ScanTargets

/** Sets the strategy of a join as a hint once its build side has finished, so that Spark plans the join, its exchanges and its reads itself.
  *
  * Runs on the logical plan in which finished stages stand as leaves, before every re-planning. Takes up only joins that [[ChooseJoinStrategy]]
  * has seen before, with the estimates of that time. A join that has a hint of its author keeps it; one of AQE's own is replaced where it stands
  * against what was decided.
  *   - broadcast, where Spark would sort: the build side fits in memory, and the probe side, which waited, is never shuffled
  *   - no broadcast, where Spark would: a build side that is small when compressed and large in memory
  */
final case class HintJoinStrategy(session: SparkSession) extends SafeRule[LogicalPlan](session) {

  override protected def change(plan: LogicalPlan, context: RuleContext): LogicalPlan =
    if (context.mode == Mode.Apply && plan.containsPattern(TreePattern.JOIN))
      plan.transformUpWithPruning(_.containsPattern(TreePattern.JOIN)) {
        case join: Join => hinted(join, context)
      }
    else plan

  private def hinted(join: Join, context: RuleContext): Join = {
    val hint = for {
      facts <- factsOf(join, context)
      decision = context.state.decideOnce(facts.joinId)(DecideJoin.decide(facts, context.thresholds))
      // Decided by another side, on another thread of the query, it says nothing of this one.
      if decision.facts.buildSide == facts.buildSide
      strategy <- hintFor(decision, facts.sparkStrategy, strategyOf(join, facts.buildSide), strategyOf(join, facts.buildSide.other))
    } yield {
      context.state.setHint(facts.joinId, decision.choice)
      val info = HintInfo(strategy = Some(strategy))
      facts.buildSide match {
        case Side.Left  => JoinHint(Some(info), None)
        case Side.Right => JoinHint(None, Some(info))
      }
    }
    hint.fold(join)(h => join.copy(hint = h))
  }

  private def strategyOf(join: Join, side: Side): Option[JoinStrategyHint] =
    (if (side == Side.Left) join.hint.leftHint else join.hint.rightHint).flatMap(_.strategy)

  /** The hint that Spark needs to do as was decided, when it does not without: on its build side it may have the right one already. */
  private def hintFor(
      decision: JoinDecision,
      sparkStrategy: Strategy,
      onBuild: Option[JoinStrategyHint],
      onProbe: Option[JoinStrategyHint]
  ): Option[JoinStrategyHint] = decision.method match {
    case Some(Method.Broadcast) =>
      val sparkBroadcasts = sparkStrategy == Strategy.Broadcast && onBuild.isEmpty && onProbe.isEmpty
      Some(BROADCAST).filterNot(_ => sparkBroadcasts || onBuild.contains(BROADCAST))
    case Some(Method.SortMerge) =>
      val sparkSorts = sparkStrategy != Strategy.Broadcast || onBuild.contains(NO_BROADCAST_HASH) || onBuild.contains(SHUFFLE_HASH)
      Some(NO_BROADCAST_HASH).filterNot(_ => sparkSorts)
    case None => None
  }

  private def factsOf(join: Join, context: RuleContext): Option[JoinFacts] = join match {
    case ExtractEquiJoinKeys(joinType, leftKeys, rightKeys, _, _, left, right, _) =>
      for {
        kind <- JoinFinder.kindOf(joinType, nullAware = false)
        state <- context.state.join(JoinId.of(kind, leftKeys, rightKeys))
        // Nearly all joins, once they are decided.
        if state.hint.isEmpty && !context.state.decision(state.joinId).exists(_.method.isEmpty)
        (leftOrdered, rightOrdered) = JoinId.ordered(leftKeys, rightKeys).unzip
        (side, keys) = if (state.buildSide == Side.Left) (left, leftOrdered) else (right, rightOrdered)
        probe = if (state.buildSide == Side.Left) right else left
        (stage, attributes) <- finishedStage(side, keys)
        build <- StageReader.read(stage, attributes, KeySketches.None, side.output)(StageColumns.origin(side, stage, _))
      } yield JoinFacts(
        state.joinId,
        state.kind,
        state.keys,
        state.buildSide,
        build,
        state.probe.copy(started = state.probe.started || isStarted(probe)),
        state.cluster,
        state.hint,
        sparkStrategy(side, build, state),
        state.canBroadcast,
        state.filterObstacle,
        state.waiting
      )
    case _ => None
  }

  /** The stage that a side consists of, below operators that keep its keys as columns. */
  private def finishedStage(side: LogicalPlan, keys: Seq[Expression]): Option[(QueryStageExec, Seq[Attribute])] = side match {
    case stage: LogicalQueryStage if stage.isMaterialized =>
      ScanTargets.buildExchange(stage.physicalPlan, keys).collect { case (found: QueryStageExec, attributes) => (found, attributes) }
    case Project(list, child) if list.forall(_.deterministic) =>
      PlainKey.all(keys).toOption.filter(_.forall(k => child.outputSet.contains(k.attribute))).flatMap(_ => finishedStage(child, keys))
    case Filter(condition, child) if condition.deterministic => finishedStage(child, keys)
    case _                                                   => None
  }

  private def isStarted(probe: LogicalPlan): Boolean = probe match {
    case _: LogicalQueryStage => true
    case other                => other.children.size == 1 && isStarted(other.children.head)
  }

  /** What Spark makes of the stage's size: the bytes of its rows, without a hash table around them and without a limit on their number. */
  private def sparkStrategy(side: LogicalPlan, build: BuildFacts, state: JoinState): Strategy = {
    val threshold = SparkThreshold.of(SQLConf.get).bytes
    if (state.canBroadcast && (build.alreadyBroadcast || side.stats.sizeInBytes <= threshold)) Strategy.Broadcast
    else Strategy.PlainSortMerge
  }
}
