package io.aqeplugin.rules

import org.apache.spark.sql.catalyst.plans.logical
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide._
import io.aqeplugin.exec.{KeyKind, PlainKey}
import io.aqeplugin.observe._
import io.aqeplugin.place.JoinSite

/** Gathers the facts of one join from a physical plan: estimates before its build side has run, measurements after. */
final class JoinFactsReader(plan: SparkPlan, context: RuleContext, estimates: SizeEstimator) {
  import JoinFactsReader._

  private lazy val planScanBytes: Double = estimates.scanBytes(plan)

  /** The side to build from. A side that is broadcast or finished is it; else the one expected to be smaller, if the other may be filtered. */
  def buildSide(join: FoundJoin): Side = join.broadcastSide.getOrElse {
    val candidates = Seq(Side.Right, Side.Left).filter(side => join.kind.mayFilter(side.other))
    candidates match {
      case Seq(only) => only
      case _         => if (bytes(join.child(Side.Left)) < bytes(join.child(Side.Right))) Side.Left else Side.Right
    }
  }

  /** Whether one side of the join runs or has run. Until then its sides may be weighed anew, with what other stages have shown. */
  def hasStarted(join: FoundJoin): Boolean = isStage(join.node.left) || isStage(join.node.right)

  private def bytes(side: SparkPlan): Double = estimates(side).rows * RowWidth.ofRow(side.output)

  /** The state of a join that is seen for the first time. */
  def firstSight(join: FoundJoin, buildSide: Side, site: JoinSite): JoinState = {
    val hint = userHint(join)
    val probe = probeFacts(join, buildSide, site)
    val canBroadcast = mayBroadcast(join.kind, buildSide)
    val build = estimatedBuild(join, buildSide)
    val state = JoinState(join.id, join.kind, keyTexts(join), buildSide, probe, context.cluster, hint, canBroadcast, build, None)
      .copy(filterObstacle = site.obstacle)
    if (site.finishedStage.isDefined) state
    else state.copy(waiting = Some(WaitPrice.decide(waitFacts(join, state, site), context.thresholds)))
  }

  /** The facts of a join whose build stage has finished. */
  def finished(join: FoundJoin, state: JoinState, site: JoinSite): Option[JoinFacts] = for {
    (stage, keys) <- site.finishedStage
    side = join.child(state.buildSide)
    build <- StageReader.read(stage, keys, KeySketches.None, side.output)(StageColumns.origin(side, stage, _))
  } yield {
    val measured = facts(state, build, join.sparkStrategy, site)
    if (site.targets.nonEmpty) measured.copy(probe = state.probe.copy(targets = site.targets.size))
    else if (isOnlyObserved(join, state)) measured.copy(probe = state.probe, filterObstacle = state.filterObstacle)
    else measured.copy(probe = probeFacts(join, state.buildSide, site))
  }

  /** Whether the probe side runs only because mode `observe` holds nothing back. What is decided then is what `apply` would decide. */
  private def isOnlyObserved(join: FoundJoin, state: JoinState): Boolean =
    context.mode == Mode.Observe && state.waiting.exists(_.waits) && isStage(join.child(state.buildSide.other))

  /** The facts of a join of which nothing was measured. */
  def unmeasured(join: FoundJoin, state: JoinState, site: JoinSite): JoinFacts =
    facts(state.copy(probe = withoutKeys(state.probe)), state.buildEstimate, join.sparkStrategy, site)

  private def facts(state: JoinState, build: BuildFacts, strategy: Strategy, site: JoinSite): JoinFacts =
    JoinFacts(
      state.joinId,
      state.kind,
      state.keys,
      state.buildSide,
      build,
      state.probe,
      state.cluster,
      state.hint,
      strategy,
      state.canBroadcast,
      site.obstacle,
      state.waiting
    )

  private def probeFacts(join: FoundJoin, buildSide: Side, site: JoinSite): ProbeFacts = {
    val probe = join.child(buildSide.other)
    val reached = site.targets ++ site.refused.map(_._1)
    ProbeFacts(
      rows = rounded(estimates(probe).rows),
      scanRows = rounded(if (reached.isEmpty) estimates(probe).rows else reached.map(t => estimates(t.scan).rows).sum),
      rowBytes = RowWidth.ofRow(probe.output),
      exchanges = if (reached.isEmpty) 0 else reached.map(_.exchanges.count(_.isInstanceOf[ShuffleExchangeLike])).max,
      started = reached.isEmpty && isStage(probe),
      targets = site.targets.size,
      keys = reached.headOption.flatMap(target => estimates.keysOf(target.scan, target.keys))
    )
  }

  private def estimatedBuild(join: FoundJoin, buildSide: Side): BuildFacts = {
    val build = join.child(buildSide)
    val estimate = estimates(build)
    val keys = PlainKey.all(join.keys(buildSide))
    BuildFacts(
      rows = rounded(estimate.rows),
      stageBytes = 0L,
      memoryBytesPerRow = RowWidth.ofRow(build.output),
      partitions = 0,
      maxPartitionBytes = 0L,
      medianPartitionBytes = 0L,
      originRows = Some(rounded(estimate.rows / estimate.kept)),
      alreadyBroadcast = false,
      keys = KeyFacts(join.keys(buildSide).size, keys.isRight)
    )
  }

  private def waitFacts(join: FoundJoin, state: JoinState, site: JoinSite): WaitFacts = {
    val build = join.child(state.buildSide)
    val probe = join.child(state.buildSide.other)
    val estimate = estimates(build)
    val buildScanBytes = estimates.scanBytes(build)
    val others = math.max(0.0, planScanBytes - buildScanBytes - estimates.scanBytes(probe))
    WaitFacts(
      kind = join.kind,
      buildSide = state.buildSide,
      keyColumns = join.node.leftKeys.size,
      keysSupported = join.node.leftKeys.forall(k => KeyKind.of(k.dataType).isRight),
      buildRows = rounded(estimate.rows / estimate.kept),
      buildScanBytes = rounded(buildScanBytes),
      buildRowBytes = RowWidth.ofRow(build.output),
      buildTasks = tasks(buildScanBytes),
      buildKeptRatio = Some(estimate.kept),
      buildPredicates = 0,
      shufflePartitions = SQLConf.get.numShufflePartitions,
      otherRunnableTasks = if (others > 0) tasks(others) else 0,
      waitsAnyway = join.sparkStrategy == Strategy.Broadcast && state.probe.exchanges == 0,
      probe = withoutKeys(state.probe),
      cluster = state.cluster,
      hint = state.hint,
      sparkStrategy = join.sparkStrategy,
      canBroadcast = state.canBroadcast,
      filterObstacle = site.obstacle,
      buildUnmeasuredColumns = site.source.fold(0) { case (source, _) =>
        RowWidth.computedColumns(build.output)(StageColumns.origin(build, source, _))
      }
    )
  }

  /** An estimated share of the build side says nothing of how its keys lie in the probe side's range. */
  private def withoutKeys(probe: ProbeFacts): ProbeFacts = probe.copy(keys = None)

  private def tasks(bytes: Double): Int = math.ceil(bytes / SQLConf.get.filesMaxPartitionBytes).max(1.0).min(Int.MaxValue.toDouble).toInt

  /** The hint of the query's author; one that we set ourselves earlier is not. */
  private def userHint(join: FoundJoin): Option[String] =
    if (context.state.hint(join.id).isDefined) None
    else
      join.node.logicalLink.flatMap {
        case j: logical.Join => AuthorHint.of(j)
        case _               => None
      }
}

object JoinFactsReader {

  /** Whether Spark can broadcast `side` of such a join. A threshold of -1 is the user's word against broadcasts. */
  def mayBroadcast(kind: JoinKind, side: Side): Boolean = broadcastsAllowed && (kind match {
    case JoinKind.Inner                                                                  => true
    case JoinKind.LeftOuter | JoinKind.LeftSemi | JoinKind.LeftAnti | JoinKind.Existence => side == Side.Right
    case JoinKind.RightOuter                                                             => side == Side.Left
    case JoinKind.FullOuter | JoinKind.NullAwareAnti                                     => false
  })

  private def broadcastsAllowed: Boolean = {
    val conf = SQLConf.get
    conf.autoBroadcastJoinThreshold >= 0 && conf.getConf(SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD).forall(_ >= 0)
  }

  private def keyTexts(join: FoundJoin): Seq[String] =
    join.keys(Side.Left).zip(join.keys(Side.Right)).map { case (left, right) => s"${left.sql} = ${right.sql}" }

  private def isStage(plan: SparkPlan): Boolean = plan match {
    case _: QueryStageExec => true
    case other             => other.children.size == 1 && isStage(other.children.head)
  }

  private def rounded(value: Double): Long = if (value >= Long.MaxValue.toDouble) Long.MaxValue else math.round(value)
}
