package io.aqeplugin.rules

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.joins.{ShuffledHashJoinExec, SortMergeJoinExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide._
import io.aqeplugin.exec.DataFiles
import io.aqeplugin.observe._
import io.aqeplugin.place.{BuildExchange, FilterTarget, FilterTargets, JoinSite}
import io.aqeplugin.storage.{FileSamples, KeySamples, KnownTables, PartitionRange, ScanAdapter}

/** Estimates the joins of a physical plan whose build side has not run.
  *
  * @param unfiltered
  *   estimates without any filter, which are kept with a join: what the filters of other joins leave is known when it is decided
  * @param estimates
  *   estimates with the filters of the joins that were judged before, by which is decided what waits
  * @param sitesBelow
  *   the joins below one whose build sides have scans that its keys reach, each with its site
  */
private[rules] final class JoinEstimator(
    plan: SparkPlan,
    context: RuleContext,
    unfiltered: SizeEstimator,
    estimates: SizeEstimator,
    waits: PlannedWaits,
    sitesBelow: (FoundJoin, JoinSite) => Seq[(FoundJoin, Side, JoinSite)]
) {
  import JoinEstimator._

  // Of a wait; reading it copies the application's conf.
  private lazy val memory = context.memory
  private lazy val usedOrder = new UsedOrder(plan, mayBroadcast)
  private lazy val writtenJoins = if (QueryPlans.isWrite(context.sparkContext)) Some(new WrittenJoins(plan)) else None
  private lazy val planScanBytes: Double = estimates.scanBytes(plan)

  /** The build side: a side that is broadcast or finished, or else the only one that has an exchange of its own, or the smaller one by
    * estimate. Of a join that keeps all rows of one side, only that side's keys may filter the other; the other is the build side if it can
    * be hashed and is much smaller, so that little can be saved on it.
    */
  def buildSide(join: FoundJoin): Side = join.range.map(_.buildSide).orElse(join.broadcastSide).getOrElse {
    val candidates = Seq(Side.Right, Side.Left).filter(side => join.kind.mayFilter(side.other))
    candidates match {
      case Seq(only) => if (isBetterHashed(join, only.other)) only.other else only
      case _         =>
        candidates.filter(hasExchange(join, _)) match {
          case Seq(only) => only
          case _         => if (bytes(join.child(Side.Left)) < bytes(join.child(Side.Right))) Side.Left else Side.Right
        }
    }
  }

  /** Of the result of a join on the same keys, which needs no exchange, nothing can be measured before the join runs. */
  private def hasExchange(join: FoundJoin, side: Side): Boolean =
    BuildExchange.of(join.child(side), join.sourceKeys(side)).isDefined

  /** With open gates, the side whose keys may filter is the build side, as everything legal is done. */
  private def isBetterHashed(join: FoundJoin, side: Side): Boolean =
    !context.thresholds.openGates && join.kind.mayHash(side) && bytes(join.child(side)) * MuchSmaller <= bytes(join.child(side.other))

  /** Whether Spark will broadcast the side, by what is known of its size now. */
  private def mayBroadcast(join: SortMergeJoinExec, side: Side): Boolean = {
    val child = side.of(join.left, join.right)
    val isAllowed = JoinFinder.kindOf(join.joinType, nullAware = false).exists(SparkThreshold.mayBroadcast(_, side))
    isAllowed && bytes(child) <= SparkThreshold.of(SQLConf.get).bytes
  }

  private def bytes(side: SparkPlan): Double = estimates(side).rows * estimates.rowBytes(side)

  /** The estimate of a join with this build side; includes a wait decision unless the build side has finished. */
  def estimate(join: FoundJoin, buildSide: Side, site: JoinSite): JoinFacts = {
    val now = unweighed(join, buildSide, site)
    val bare = if (estimates.isFiltered) unfiltered else estimates
    val probe = if (bare eq estimates) now.probe else probeFacts(join, buildSide, site, bare)
    val below = sitesBelow(join, site)
    // A wait is priced by the whole facts of the joins below.
    val kept = now.copy(probe = probe.copy(path = probe.path ++ sources(below, site, bare)))
    sample(join, site, kept)
    context.state.noteScans(
      kept.joinId,
      join.id,
      (site.targets.map(_ -> true) ++ site.refused.map(_._1 -> false)).map { case (target, isTarget) =>
        ReachedScan(target.node.output.map(_.exprId), rounded(bare(target.node).rows), isTarget)
      }
    )
    if (site.finishedStage.isDefined) kept
    else kept.copy(waiting = Some(WaitPrice.decide(waitFacts(join, now, site, below), context.thresholds)))
  }

  /** Begins to sample the only scan, if each key of the build side may be known when the join is decided; of its rows only if it is large. */
  private def sample(join: FoundJoin, site: JoinSite, estimate: JoinFacts): Unit = site.targets match {
    case Seq(target) if join.range.isEmpty && estimate.build.rows <= context.thresholds(AqeConf.SketchMaxKeys) * RowsPerKey =>
      context.state.sampleOnce(estimate.joinId, estimate.buildSide, target.node.output.map(_.exprId))(
        target.node match {
          case scan: FileSourceScanExec if estimate.probe.unfilteredScanRows >= context.thresholds(AqeConf.SampleMinRows) =>
            KeySamples.of(scan, target.keys)
          case _ => None
        },
        // An engine's own scan gets conditions above it.
        if (context.engine.isEmpty) FileSamples.of(target.scan, target.keys, read(target)) else None
      )
    case _ =>
  }

  private def read(target: FilterTarget): DataFiles =
    DataFiles(context.tables.filesRead(target.scan).getOrElse(0L), rounded(estimates.scanBytes(target.scan)))

  /** What is known now, with the filters of the joins that were judged before, and without a wait decision. */
  def unweighed(join: FoundJoin, buildSide: Side, site: JoinSite): JoinFacts = {
    val hint = authorHint(join)
    JoinFacts(
      context.state.nameOf(join.id),
      join.kind,
      join.texts,
      buildSide,
      buildFacts(join, buildSide, site),
      probeFacts(join, buildSide, site, estimates),
      context.cluster.facts,
      hint,
      sparkStrategy(join, buildSide, hint),
      SparkThreshold.mayBroadcast(join.kind, buildSide),
      site.obstacle,
      orderUsed = usedOrder.of(join.node),
      written = writtenJoins.exists(_.of(join.node)),
      engine = context.engine.map(_.name)
    )
  }

  /** What is known of a join that is left alone: how many rows its sides may have. */
  def unseen(join: ForeignJoin): JoinFacts = {
    val (left, right) = (estimates(join.child(Side.Left)), estimates(join.child(Side.Right)))
    val side = if (left.rows < right.rows) Side.Left else Side.Right
    val (build, probe) = (side.of(left, right), side.of(right, left))
    JoinFacts(
      context.state.nameOf(join.id),
      join.kind,
      join.texts,
      side,
      BuildFacts.expected(rounded(build.rows), estimates.rowBytes(join.child(side)), KeyFacts(join.texts.size, supported = true)),
      ProbeFacts(
        rounded(probe.rows),
        rounded(probe.rows),
        estimates.rowBytes(join.child(side.other)),
        exchanges = 0,
        started = false,
        targets = 0,
        rowsSource = Some(probe.source)
      ),
      context.cluster.facts,
      hint = None,
      Strategy.LeaveToSpark,
      canBroadcast = false,
      filterObstacle = Some(ReasonCode.ForeignNode)
    )
  }

  /** The facts of a join without any measurement. */
  def unmeasured(join: FoundJoin, estimate: JoinFacts, site: JoinSite): JoinFacts =
    estimate.copy(
      probe = estimate.probe.withoutKeyRange,
      sparkStrategy = expectedStrategy(join, estimate),
      filterObstacle = site.obstacle
    )

  /** What becomes of a join that the present plan sorts: AQE broadcasts a side once it is seen to be small. */
  private def expectedStrategy(join: FoundJoin, estimate: JoinFacts): Strategy = join.node match {
    case sorted: SortMergeJoinExec if join.range.isEmpty && estimate.hint.isEmpty && Sides.exists(mayBroadcast(sorted, _)) =>
      Strategy.Broadcast
    case _ => sparkStrategy(join, estimate.buildSide, estimate.hint)
  }

  private def probeFacts(join: FoundJoin, buildSide: Side, site: JoinSite, estimates: SizeEstimator): ProbeFacts = {
    val probe = join.child(buildSide.other)
    val reached = site.reached
    // A scan that gets no filter is spared nothing.
    val pruned = site.targets.filter(prunesFiles)
    val path = new ProbePath(join.node, site.steps, estimates)
    def of(sizes: SizeEstimator) = if (reached.isEmpty) Seq(sizes(probe)) else reached.map(target => sizes(target.node))
    val scanned = of(estimates)
    ProbeFacts(
      rows = rounded(estimates(probe).rows),
      scanRows = rounded(scanned.map(_.rows).sum),
      rowBytes = estimates.rowBytes(probe),
      exchanges = if (reached.isEmpty) ProbePath.ownShuffle(join.node, probe).size else path.shuffles,
      started = reached.isEmpty && FinishedJoin.isStage(probe),
      targets = site.targets.size,
      keys = KeyFacts.union(FilterTargets.ofUnion(reached).map(keysOf(join, _))),
      rowsSource = Some(estimates(probe).source),
      scanRowsSource = Some(EstimateSource.leastSure(scanned.head.source, scanned.tail.map(_.source): _*)),
      scanRowsBefore = if (estimates.isFiltered) Some(rounded(of(unfiltered).map(_.rows).sum)) else None,
      beforeExchange = site.isBeforeExchange,
      prunableBytes = rounded(pruned.map(target => estimates.scanBytes(target.node)).sum),
      prunableFiles = pruned.flatMap(target => context.tables.filesRead(target.scan)).sum,
      otherUsesPassRate = site.otherUsesPassRate,
      changed = site.targets.nonEmpty && site.targets.forall(target => KnownTables.isChanged(target.scan)),
      path = path.steps ++ shared(join, probe, site, estimates)
    )
  }

  private def shared(join: FoundJoin, probe: SparkPlan, site: JoinSite, estimates: SizeEstimator): Option[PathStep] =
    for (share <- site.shuffleShare if share < 1; own <- ProbePath.ownShuffle(join.node, probe))
      yield ProbePath.shared(own, share, estimates)

  /** The joins below that filter other scans by what the targets leave. */
  private def sources(joinsBelow: Seq[(FoundJoin, Side, JoinSite)], site: JoinSite, estimates: SizeEstimator): Seq[PathStep] = {
    val own = ByIdentity.of(site.targets.map(_.node -> ()))
    for {
      (below, side, of) <- joinsBelow if mayStillFilter(below)
      // Those that the join's own filter reaches are on its path.
      others = of.targets.filterNot(target => own.contains(target.node)) if others.nonEmpty
    } yield {
      val build = estimates(below.child(side))
      val known = others.flatMap(keysOf(below, _)).flatMap(_.mostDistinct)
      val filtered = others.map(_.node)
      PathStep.FilterSource(
        rounded(build.rows),
        math.min(rounded(build.rows / build.kept), known.maxOption.getOrElse(Long.MaxValue)),
        rounded(filtered.map(estimates(_).rows).sum),
        filtered.map(estimates.rowBytes).maxOption.getOrElse(0L)
      )
    }
  }

  /** Whether nothing is known against the filter of a join: it was not decided without, and its probe side was not let go. */
  private def mayStillFilter(join: FoundJoin): Boolean = {
    val name = context.state.nameOf(join.id)
    context.state.decision(name).forall(_.buildFilter) && context.state.estimate(name).flatMap(_.waiting).forall(_.waits)
  }

  /** Of a key of several columns, one column leaves out fewer partitions than the pass rate of the key says, so none are counted. */
  private def prunesFiles(target: FilterTarget): Boolean = target.keys match {
    case Seq(key) => ScanAdapter.prunesPartitions(target.scan, key)
    case _        => false
  }

  /** Each value of the column counts as a key, so that the share of the keys is that of the range. */
  private def keysOf(join: FoundJoin, target: FilterTarget): Option[KeyFacts] = {
    val known = estimates.keysOf(target.node, target.keys)
    if (join.range.isEmpty) known
    else
      known.flatMap(keys => keys.min.zip(keys.max)).orElse(partitionRange(target)).map { case (min, max) =>
        RangeFacts.of(min, max)
      }
  }

  private def partitionRange(target: FilterTarget): Option[(Long, Long)] = target.keys.head match {
    case column: Attribute => context.state.partitionRange(column.exprId)(PartitionRange.of(target.scan, column))
    case _                 => None
  }

  private def buildFacts(join: FoundJoin, buildSide: Side, site: JoinSite): BuildFacts = {
    val build = join.child(buildSide)
    val estimate = estimates(build)
    val keys =
      if (join.range.isDefined) RangeFacts.unmeasured(join.keys(buildSide).forall(PlainKey.of(_).isRight))
      else keyFacts(join, buildSide, site)
    BuildFacts.expected(rounded(estimate.rows), estimates.rowBytes(build), keys).copy(
      originRows = Some(rounded(estimate.rows / estimate.kept)),
      unmeasuredColumns = site.source.fold(0) { case (source, _) =>
        RowWidth.computedColumns(build.output)(StageColumns.origin(build, source, _))
      },
      originRowsSource = Some(estimate.tableSource)
    )
  }

  private def keyFacts(join: FoundJoin, buildSide: Side, site: JoinSite): KeyFacts = {
    val held = join.sourceKeys(buildSide)
    val keys = KeyTypes.noted(KeyFacts(held.size, join.heldKeys(buildSide).isRight), held.map(_.dataType))
    // A join looks up all of its keys, and a struct as a whole.
    val all = join.keys(buildSide)
    val isPartOfKey = held.size == 1 && (all.size > 1 || all.exists(_.dataType.isInstanceOf[StructType]))
    keys.copy(byRow = keys.byRow || isPartOfKey, computed = site.targets.map(_.computedKeys).maxOption.getOrElse(0))
  }

  private def waitFacts(join: FoundJoin, estimate: JoinFacts, site: JoinSite, below: Seq[(FoundJoin, Side, JoinSite)]): WaitFacts = {
    val buildScanBytes = estimates.scanBytes(join.child(estimate.buildSide))
    val others = math.max(0.0, planScanBytes - buildScanBytes - estimates.scanBytes(join.child(estimate.buildSide.other)))
    WaitFacts(
      estimate.copy(memory = Some(memory)),
      buildScanBytes = rounded(buildScanBytes),
      buildTasks = tasks(estimates.widestScanBytes(join.child(estimate.buildSide))),
      shufflePartitions = SQLConf.get.numShufflePartitions,
      otherRunnableTasks = (if (others > 0) tasks(others) else 0) + context.cluster.busySlots,
      heldMillis = math.max(waits.ofAll(site.targets.map(_.node)), millisBelow(site)),
      // Only the price of a filter asks for them.
      reduced = LazyList.from(below).map { case (join, side, site) => unweighed(join, side, site) },
      buildStages = StagesBelow.inSequence(join.child(estimate.buildSide))
    )
  }

  /** How long the stages below the targets run at least, before which their rows are not there to be filtered. */
  private def millisBelow(site: JoinSite): Double = if (!site.isBeforeExchange) 0.0
  else {
    val bytes = site.targets.map(target => StagesBelow.nearest(target.node).map(estimates.scanBytes).sum)
    val prices = context.thresholds.of(context.engine.map(_.name))
    bytes.min * prices(AqeConf.CostScanNanosPerByte) / math.max(1, context.cluster.facts.slots) / CostModel.NanosPerMilli
  }

  private lazy val tasks: Double => Int = {
    val conf = SQLConf.get
    val leastTasks =
      conf.filesMinPartitionNum.orElse(
        conf.getConf(SQLConf.LEAF_NODE_DEFAULT_PARALLELISM)
      ).getOrElse(context.sparkContext.defaultParallelism)
    scanTasks(_, leastTasks, conf.filesMaxPartitionBytes, conf.filesOpenCostInBytes)
  }

  /** A hinted hash join stays one. Without a hint, Spark may sort the sides instead once it knows their sizes. */
  private def sparkStrategy(join: FoundJoin, buildSide: Side, hint: Option[String]): Strategy = join.node match {
    case hashed: ShuffledHashJoinExec if hint.isDefined =>
      if (JoinFinder.sideOf(hashed.buildSide) == buildSide) Strategy.ShuffledHash else Strategy.LeaveToSpark
    case _ => join.sparkStrategy
  }

  private def authorHint(join: FoundJoin): Option[String] = context.state.decision(context.state.nameOf(join.id)) match {
    // The present hint may be the plugin's.
    case Some(decision) => decision.facts.hint
    case None           => join.node.logicalLink.collect { case joined: Join => joined }.flatMap(AuthorHint.of)
  }
}

private[rules] object JoinEstimator {

  /** Of a build side with more estimated rows per key that may be kept, each key is not expected to be known. */
  private val RowsPerKey = 10.0

  /** How many times smaller Spark wants the side to be that it hashes. */
  private val MuchSmaller = 3

  /** The tasks of a scan of `bytes`, as Spark splits files (`FilePartition.maxSplitBytes`), without what it adds for opening each. */
  private[rules] def scanTasks(bytes: Double, leastTasks: Int, mostBytesOfATask: Long, leastBytesOfATask: Long): Int = {
    val shared = math.max(leastBytesOfATask.toDouble, bytes / math.max(1, leastTasks))
    val tasks = bytes / math.max(1.0, math.min(mostBytesOfATask.toDouble, shared))
    // A division by a quotient may come out above the divisor.
    math.ceil(tasks - RoundingError).min(Int.MaxValue.toDouble).toInt.max(1)
  }

  private val Sides = Seq(Side.Left, Side.Right)

  private val RoundingError = 1e-6

  private[rules] def rounded(value: Double): Long = if (value >= Long.MaxValue.toDouble) Long.MaxValue else math.round(value)
}
