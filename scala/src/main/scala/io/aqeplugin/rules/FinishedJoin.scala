package io.aqeplugin.rules

import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.catalyst.expressions.{AliasHelper, Attribute, ExprId, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, LogicalQueryStage, QueryStageExec, TableCacheQueryStageExec}
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide._
import io.aqeplugin.exec.{MeasuredKeys, RelationKeys}
import io.aqeplugin.observe._
import io.aqeplugin.place.{BuildExchange, JoinSite}

/** A join whose build stage has finished, as shown equally by a logical and a physical plan.
  *
  * Only a physical plan shows one whose build stage is a cached table, which must have the partitions that the join needs: a logical plan
  * does not tell whether an exchange lies between. The same is true of one whose build side is a semi join above the stage. No hint can carry
  * out a strategy for these, so the strategy is left to Spark.
  *
  * @param stage
  *   the build stage
  * @param keys
  *   the keys that a filter is made of, over the columns of the stage
  * @param output
  *   the columns of the build side
  * @param origin
  *   the column of the stage that a column of the build side copies
  * @param isBroadcast
  *   the build side is a broadcast relation or about to become one
  * @param isAllOfBuildSide
  *   between the stage and the join are only operators with one child
  * @param sizeInBytes
  *   Spark's estimate of the build side's size
  * @param probeStarted
  *   the probe side is a stage that has started; in a logical plan, which shows no exchange, perhaps one below that of the join
  * @param probeShuffled
  *   the probe side's stage is that of the join's own exchange
  * @param probeScansStarted
  *   everything that the probe side reads is in such stages
  * @param hints
  *   the join's hints, which are AQE's if the author gave none
  * @param needsShuffle
  *   whether a join of two shuffles has to shuffle the build side once more
  * @param site
  *   where a filter can go now, which may have changed since the estimate; known only from a physical plan
  * @param sketches
  *   further facts about the keys
  */
final case class FinishedJoin(
    stage: QueryStageExec,
    keys: Seq[Expression],
    output: Seq[Attribute],
    origin: Attribute => Option[Attribute],
    isBroadcast: Boolean,
    isAllOfBuildSide: Boolean,
    sizeInBytes: BigInt,
    probeStarted: Boolean,
    probeShuffled: Boolean,
    probeScansStarted: Boolean,
    hints: PlannerHints,
    needsShuffle: Boolean = false,
    site: Option[JoinSite] = None,
    sketches: KeySketches = MeasuredKeys
) {

  /** `estimate` completed with what is known now; none when the stage does not know its rows. */
  def facts(estimate: JoinFacts, context: RuleContext): Option[JoinFacts] =
    facts(estimate, context.mode, context.tables, context.state.sampleOf(estimate.joinId, estimate.buildSide, onlyTarget))

  private[rules] def facts(
      estimate: JoinFacts,
      mode: Mode,
      tables: TableStatistics,
      sample: Option[TakenSample] = None
  ): Option[JoinFacts] =
    StageReader.read(stage, keys, FactSources(sketches, tables), output)(origin).map { read =>
      val expected = estimate.build.keys
      val build = read.copy(keys = read.keys.copy(byRow = read.keys.byRow || expected.byRow, computed = expected.computed))
      // In mode observe it runs only because nothing waits. The decision must be that of mode apply.
      val isOnlyObserved = mode == Mode.Observe && estimate.waiting.exists(_.waits)
      val measured = estimate.copy(
        build = build.copy(exchanges = if (needsShuffle) 1 else 0),
        probe = sampled(estimate.probe, sample.filter(_ => hasOnlyTarget(estimate))),
        sparkStrategy = sparkStrategy(estimate, build),
        smallByFilters = isSmallByFilters(estimate)
      )
      if (isOnlyObserved) measured else measured.copy(probe = probe(measured.probe), filterObstacle = filterObstacle(estimate))
    }

  /** Other uses of a shared scan read files without a key too. */
  private def sampled(probe: ProbeFacts, sample: Option[TakenSample]): ProbeFacts = {
    lazy val every = sketches.everyKey(stage, keys)
    probe.copy(
      sample = sample.flatMap(_.rows).flatMap(_.matching(every)),
      keyless = sample.filter(_ => probe.otherUsesPassRate <= 0).flatMap(_.files).flatMap(_.without(every))
    )
  }

  /** Whether the build side may be the one that was measured. Where tasks ran again because an executor was lost, rows may count twice. */
  def isNoLargerThan(measured: BuildFacts): Boolean =
    StageReader.rows(stage).forall(_ <= FinishedJoin.MostCounts * math.max(1L, measured.rows))

  /** What Spark does, given the author's hint, or else AQE's and the size of the build side, without a hash table and without a row limit. */
  private def sparkStrategy(estimate: JoinFacts, build: BuildFacts): Strategy = {
    val isByRange = site.exists(_.bounds.isDefined)
    val isSmall = estimate.canBroadcast && sizeInBytes <= threshold
    if (isByRange && !build.alreadyBroadcast) Strategy.LeaveToSpark
    else if (isBroadcast) Strategy.Broadcast
    else if (FinishedJoin.isCache(stage) || !isAllOfBuildSide) Strategy.LeaveToSpark
    else if (estimate.hint.isDefined) estimate.sparkStrategy
    else
      hints.sparkStrategy(
        isSmall,
        PlannerHints.mayHash(estimate.kind, estimate.buildSide),
        hashesBySize = ThisSparkLine.hashesWithoutHint(stage, SQLConf.get)
      )
  }

  private def isSmallByFilters(estimate: JoinFacts): Boolean =
    !isBroadcast && estimate.hint.isEmpty && sizeInBytes <= threshold && BigDecimal(sizeInBytes) > StartedFilters.kept(stage) * threshold

  private def threshold: Long = SparkThreshold.of(SQLConf.get).bytes

  /** The columns of the only scan that a filter can reach; only a physical plan shows it. */
  private def onlyTarget: Option[Seq[ExprId]] = site.map(_.targets.flatMap(_.node.output.map(_.exprId)))

  /** Whether the keys themselves reach one scan and nothing else. */
  private def hasOnlyTarget(estimate: JoinFacts): Boolean =
    site.fold(estimate.probe.targets == 1 && !estimate.probe.beforeExchange) { now =>
      now.bounds.isEmpty && now.targets.size == 1 && !now.isBeforeExchange
    }

  private def probe(probe: ProbeFacts): ProbeFacts = {
    val targets = site.fold(if (probeScansStarted) 0 else probe.targets)(_.targets.size)
    val otherUses = site.filter(_.targets.nonEmpty).fold(probe.otherUsesPassRate)(_.otherUsesPassRate)
    val isStarted = if (probe.beforeExchange) probeShuffled else probeStarted
    probe.copy(started = probe.started || isStarted, targets = targets, otherUsesPassRate = otherUses)
  }

  /** Whether only a physical plan shows if a filter can go in front of a later exchange, or what other uses of the scans let pass now. */
  def mayBeFilteredLater(estimate: JoinFacts): Boolean = site.isEmpty && !probeShuffled && !needsShuffle &&
    (probeScansStarted || estimate.filterObstacle.contains(ReasonCode.ReusedExchange) || estimate.probe.otherUsesPassRate > 0)

  /** The present obstacle, or that of the estimate if no scan remains to be filtered. */
  private def filterObstacle(estimate: JoinFacts): Option[ReasonCode] = site match {
    case Some(now) => now.obstacle.orElse(estimate.filterObstacle.filter(_ => now.targets.isEmpty))
    case None      => estimate.filterObstacle
  }
}

object FinishedJoin extends AliasHelper {

  /** How often a row is counted at most. */
  private val MostCounts = 2

  /** The finished join of a physical plan.
    *
    * @param site
    *   the site for its build side
    * @param readsKeys
    *   whether the keys of a small broadcast may be read
    */
  def of(join: FoundJoin, buildSide: Side, site: JoinSite, readsKeys: Boolean = true): Option[FinishedJoin] =
    site.finishedStage.map { case (stage, keys) =>
      val build = join.child(buildSide)
      val probe = join.child(buildSide.other)
      val logical = join.node.logicalLink.collect { case known: Join => known }
      FinishedJoin(
        stage,
        keys,
        build.output,
        StageColumns.origin(build, stage, _),
        join.broadcastSide.contains(buildSide),
        isAllOfBuildSide = isCache(stage) || isStage(build),
        logical.map(join => buildSide.of(join.left, join.right)).fold(stage.getRuntimeStatistics)(_.stats).sizeInBytes,
        isShuffled(probe),
        isShuffled(probe),
        haveStarted(probe),
        logical.fold(PlannerHints.Empty)(known => PlannerHints.of(known.hint, buildSide)),
        // An exchange that has not run would be the build stage.
        needsShuffle = false,
        Some(site),
        site.bounds.fold(keysOf(site, readsKeys))(RangeFacts(_))
      )
    }

  /** To read the rows of a broadcast pays only where a filter may come of it. */
  private def keysOf(site: JoinSite, readsKeys: Boolean): KeySketches =
    if (readsKeys && site.targets.nonEmpty) RelationKeys else MeasuredKeys

  /** The finished join of a logical plan, in which stages are leaves. */
  def of(join: EqualityJoin, buildSide: Side): Option[FinishedJoin] = {
    val (build, keys) = join.side(buildSide)
    val (probe, probeKeys) = join.side(buildSide.other)
    stageBelow(build, join.sourceKeys(buildSide), keys).map { case (stage, held, Above(isBroadcast, needsShuffle)) =>
      FinishedJoin(
        stage,
        held,
        build.output,
        StageColumns.origin(build, stage, _),
        isBroadcast,
        isAllOfBuildSide = true,
        build.stats.sizeInBytes,
        isStage(probe),
        isShuffled(probe, probeKeys),
        probe.collectLeaves().forall { case found: LogicalQueryStage => haveStarted(found.physicalPlan); case _ => false },
        PlannerHints.of(join.hint, buildSide),
        needsShuffle
      )
    }
  }

  /** What is between a finished stage and its join. */
  private final case class Above(isBroadcast: Boolean, needsShuffle: Boolean)

  /** The finished stage of a side, below operators that keep the columns of its keys, with the keys there.
    *
    * @param held
    *   those of the join's keys that a filter is made of
    */
  private def stageBelow(
      side: LogicalPlan,
      held: Seq[Expression],
      keys: Seq[Expression]
  ): Option[(QueryStageExec, Seq[Expression], Above)] = side match {
    case found: LogicalQueryStage if found.isMaterialized =>
      BuildExchange.of(found.physicalPlan, held).collect {
        case (stage: QueryStageExec, ofStage) if !isCache(stage) =>
          val isBroadcast = found.physicalPlan.isInstanceOf[BroadcastQueryStageExec]
          val isPartitioned = found.physicalPlan.outputPartitioning.satisfies(ThisSparkLine.clusteredBy(keys))
          (stage, ofStage, Above(isBroadcast, needsShuffle = !isBroadcast && !isPartitioned))
      }
    case Project(list, child) if list.forall(_.deterministic) =>
      if (held.forall(_.references.subsetOf(child.outputSet))) stageBelow(child, held, keys) else None
    case Filter(condition, child) if condition.deterministic => stageBelow(child, held, keys)
    case _                                                   => None
  }

  /** Whether one side of a join has started, also below a join of its own that only drops rows. */
  def hasStarted(join: FoundJoin): Boolean = hasStage(join.node.left) || hasStage(join.node.right)

  // For every join at every planning, so without keys.
  private def hasStage(side: SparkPlan): Boolean = below(side) {
    case stage: QueryStageExec                            => !isCache(stage)
    case join: BaseJoinExec if BuildExchange.isSemi(join) => hasStage(join.left)
  }

  /** Whether a plan is a stage of a join that has started, below only operators with one child. */
  def isStage(plan: SparkPlan): Boolean = below(plan) { case stage: QueryStageExec => !isCache(stage) }

  /** What is said of the first node that something is said of, if there are only operators with one child above it. */
  private def below[P <: TreeNode[P]](plan: P)(said: PartialFunction[P, Boolean]): Boolean =
    said.applyOrElse(plan, (other: P) => other.children.size == 1 && below(other.children.head)(said))

  private def isShuffled(probe: SparkPlan): Boolean = isStage(probe) && !probe.exists(_.isInstanceOf[Exchange])

  /** Whether the rows of a stage lie as the join needs them. */
  private def isShuffled(probe: LogicalPlan, keys: Seq[Expression]): Boolean = probe match {
    case found: LogicalQueryStage =>
      val own = found.physicalPlan
      isShuffled(own) && own.outputPartitioning.satisfies(ThisSparkLine.clusteredBy(keys))
    case project: Project => isShuffled(project.child, keys.map(replaceAlias(_, getAliasMap(project))))
    case Filter(_, child) => isShuffled(child, keys)
    case _                => false
  }

  /** Whether a side of a join is a stage that has finished, below only operators with one child. */
  def isFinished(plan: LogicalPlan): Boolean = below(plan) { case found: LogicalQueryStage => found.isMaterialized }

  private def isStage(plan: LogicalPlan): Boolean = below(plan) { case found: LogicalQueryStage => isStage(found.physicalPlan) }

  private def haveStarted(probe: SparkPlan): Boolean = probe.collectLeaves().forall {
    case stage: QueryStageExec => !isCache(stage)
    case _                     => false
  }

  /** Whether a stage only loads a cached table, for all its readers. A join reads the table through filters and an exchange of its own. */
  private def isCache(stage: QueryStageExec): Boolean = stage.isInstanceOf[TableCacheQueryStageExec]
}
