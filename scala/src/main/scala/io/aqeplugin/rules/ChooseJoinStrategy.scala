package io.aqeplugin.rules

import scala.util.hashing.MurmurHash3

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanLike
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.{AqeConf, Mode}
import io.aqeplugin.decide._
import io.aqeplugin.exec.{BuildLimits, BuiltFilters, FilterLabel, SelfDisable}
import io.aqeplugin.filters.FilterLimits
import io.aqeplugin.observe._
import io.aqeplugin.place._
import io.aqeplugin.storage.FooterStatistics
import io.aqeplugin.tell.{DecisionLog, ExplainText}

/** Makes probe sides wait for their build sides, decides each join once its build side has finished, and puts the filters into the scans.
  *
  * AQE calls it on the whole plan when a query starts and again after every stage that has finished, each time on a plan made anew. What it does
  * for one join:
  *   1. build side not finished: ask [[WaitPrice]] whether the probe side should wait. If so, the filter is put in already; being a stage of
  *      its own that needs the build side's, it holds the probe side back.
  *   1. build side finished: [[DecideJoin]], once. A filter that pays stays in; one that does not is left out, and the probe side starts.
  *   1. filter ready: its range or values go into the scan, so that partitions, files and row groups without a key are not read.
  *
  * The strategy itself (broadcast or not) is set one step earlier, by [[HintJoinStrategy]], which Spark's own planning then follows.
  */
final case class ChooseJoinStrategy(session: SparkSession) extends SafeRule[SparkPlan](session) {

  override protected def change(plan: SparkPlan, context: RuleContext): SparkPlan = {
    val stripped = PlaceFilters.strip(plan)
    val joins = JoinFinder.find(stripped)
    if (joins.isEmpty || isStreaming(stripped) || context.pruning.isOwnPlan(stripped)) {
      plan
    } else {
      val pass = new Pass(stripped, context)
      pass.beginReadingTables()
      val wanted = joins.flatMap(pass.placements)
      val (kept, tooMany) = ChooseJoinStrategy.capped(wanted, context)
      pass.record(kept, tooMany)
      if (context.mode != Mode.Apply) {
        plan
      } else {
        val rewritten =
          if (kept.isEmpty) stripped
          else new PlaceFilters(kept, limits(context.thresholds), rest(context.thresholds), pass.tables)(stripped)
        // Only a plan that had filters before can come out the same.
        if ((stripped ne plan) && rewritten == plan) plan else rewritten
      }
    }
  }

  private def isStreaming(plan: SparkPlan): Boolean = plan.logicalLink.exists(_.isStreaming)

  private def limits(thresholds: Thresholds): BuildLimits = BuildLimits(
    FilterLimits(
      expectedKeys = Long.MaxValue,
      exactMaxKeys = thresholds(AqeConf.FilterExactMaxKeys).min(Int.MaxValue).toInt,
      maxFilterBytes = thresholds(AqeConf.FilterMaxBytes),
      falsePositiveRate = thresholds(AqeConf.FilterFalsePositiveRate)
    ),
    inListMaxKeys = thresholds(AqeConf.FilterInListMaxKeys).min(Int.MaxValue).toInt,
    timeoutMillis = thresholds(AqeConf.FilterBuildTimeout)
  )

  private def rest(thresholds: Thresholds): SelfDisable = SelfDisable(
    thresholds(AqeConf.SelfDisableSampleBatches).min(Int.MaxValue).toInt,
    if (thresholds.openGates) 1.0 else thresholds(AqeConf.SelfDisableMaxPassRate),
    thresholds(AqeConf.SelfDisableSkipBatches).min(Int.MaxValue).toInt
  )
}

object ChooseJoinStrategy {

  /** At most so many filters on one plan: every source is a copy of its build side's tree, and copies multiply along chains. */
  private val MaxFiltersPerPlan = 64

  /** The most selective filters of each scan and of the plan, and those that are too many, each with what they are too many for. */
  private[rules] def capped(wanted: Seq[Placement], context: RuleContext): (Seq[Placement], Seq[(Placement, Reason)]) = {
    // By position: a placement holds plans, and hashing those would walk them whole.
    val perScan = wanted.indices.groupBy(i => System.identityHashCode(wanted(i).target.scan)).values
    val maxPerScan = context.thresholds(AqeConf.FilterMaxPerScan).toInt
    val bestOfScans = perScan.flatMap(_.sortBy(wanted(_).expectedPassRate).take(maxPerScan)).toSeq
    val best = bestOfScans.sortBy(wanted(_).expectedPassRate).take(MaxFiltersPerPlan).toSet
    val (kept, tooMany) = wanted.indices.partition(best.contains)
    val ofScans = bestOfScans.toSet
    (kept.map(wanted), tooMany.map(i => wanted(i) -> (if (ofScans.contains(i)) tooManyOnPlan else tooManyOnScan(maxPerScan))))
  }

  private def tooManyOnScan(limit: Int): Reason =
    Reason(ReasonCode.MaxFiltersPerScan, limit = Some(limit.toDouble), unit = "filters", confKey = AqeConf.FilterMaxPerScan.key)

  private val tooManyOnPlan: Reason = Reason(ReasonCode.MaxFiltersPerPlan, limit = Some(MaxFiltersPerPlan.toDouble), unit = "filters")
}

/** One call of the rule on one plan. */
private[rules] final class Pass(plan: SparkPlan, context: RuleContext) {
  private val state = context.state

  /** What the files of scanned tables say, asked for once in a query. */
  val tables: TableStatistics = scan => state.tableFacts(scan.relation.location)(FooterStatistics.of(scan))
  private val estimates = new SizeEstimator(context.thresholds(AqeConf.WaitKeptPerPredicate), tables)
  private val reader = new JoinFactsReader(plan, context, estimates)
  private val guard = new ReuseGuard(plan)
  private val reuses = SQLConf.get.exchangeReuseEnabled
  private val usedByPruning = context.pruning.joinsIn(plan)

  /** The filters that a join asks for now. */
  def placements(join: FoundJoin): Seq[Placement] =
    // Looking for the scans that its keys reach is what costs most, and a join that was decided without a filter needs none.
    if (state.decision(join.id).exists(!_.buildFilter)) Nil
    else if (usedByPruning.contains(join.id)) leftAlone(join)
    else sought(join)

  private def sought(join: FoundJoin): Seq[Placement] = {
    val (joinState, site) = remembered(join)
    val (asked, why, passRate) = reader.finished(join, joinState, site) match {
      case Some(facts) =>
        val decision = state.decideOnce(join.id)(DecideJoin.decide(facts, context.thresholds))
        val wanted = decision.buildFilter && decision.facts.buildSide == joinState.buildSide
        val repeated = wanted && isRepeated(site)
        if (repeated) refuseRepeated(join.id, site)
        (wanted && !repeated, ExplainText.short(decision), decision.passRate)
      case None =>
        val waiting = joinState.waiting
        val reason = site.obstacle.map(Reason(_)).orElse(waiting.map(_.reason)).getOrElse(Reason(ReasonCode.FactsMissing))
        val expected = state.declineOnce(join.id, (joinState, site.targets.size, reason))(undecided(join, joinState, site, reason))
        (waiting.exists(_.waits), "waits for its build side", expected.passRate)
    }
    if (asked) {
      site.targets.foreach(target => estimates.filter(target.scan, passRate))
      site.source.toSeq.flatMap { case (source, keys) => site.targets.map(placement(source, keys, _, join.id, why, passRate)) }
    } else Nil
  }

  /** No filter, and no state either: [[HintJoinStrategy]] takes up no join without one. */
  private def leftAlone(join: FoundJoin): Seq[Placement] = {
    val _ = state.declineOnce(join.id, ReasonCode.ReusedExchange) {
      val side = reader.buildSide(join)
      val site = JoinSite.of(join, side, guard).refuseAll(ReasonCode.ReusedExchange)
      undecided(join, reader.firstSight(join, side, site), site, Reason(ReasonCode.ReusedExchange))
    }
    Nil
  }

  /** The join as its query remembers it, and the site that belongs to the side remembered: another thread may plan the same join meanwhile. */
  private def remembered(join: FoundJoin): (JoinState, JoinSite) = {
    val started = reader.hasStarted(join)
    if (started) state.settle(join.id)
    else if (state.decision(join.id).isEmpty) state.forget(join.id)
    val side = state.join(join.id).fold(reader.buildSide(join))(_.buildSide)
    val site = siteOf(join, side)
    val joinState = state.joinOrElse(join.id)(reader.firstSight(join, side, site).copy(settled = started))
    (joinState, if (joinState.buildSide == side) site else siteOf(join, joinState.buildSide))
  }

  private def siteOf(join: FoundJoin, buildSide: Side): JoinSite = {
    val site = JoinSite.of(join, buildSide, guard)
    if (site.targets.isEmpty) site
    else if (!reuses) site.refuseAll(ReasonCode.ReuseOff)
    else if (site.source.exists { case (source, _) => source.exists(isCacheToLoad) }) site.refuseAll(ReasonCode.CacheNotLoaded)
    else site
  }

  /** A cached table that AQE would load for each copy of the plan below it. Once it has made a stage of it, that stage stands in all copies. */
  private def isCacheToLoad(plan: SparkPlan): Boolean = plan match {
    case scan: InMemoryTableScanLike => !scan.isMaterialized
    case _                           => false
  }

  /** Has the footers of all tables read at the same time. */
  def beginReadingTables(): Unit = plan.collectLeaves().foreach {
    case scan: FileSourceScanExec if !state.knowsTable(scan.relation.location) => FooterStatistics.begin(scan)
    case _                                                                     =>
  }

  /** Writes down the decisions that this call made, now that it is known where their filters went. */
  def record(kept: Seq[Placement], tooMany: Seq[(Placement, Reason)]): Unit = if (RuleContext.isExecution(context)) {
    kept.foreach(place(_, context.mode == Mode.Apply, placedReason))
    tooMany.foreach { case (placement, reason) => place(placement, applied = false, reason) }
    state.unrecorded.foreach(DecisionLog.record(context.sparkContext, state, context.mode, _))
  }

  private def place(placement: Placement, applied: Boolean, reason: Reason): Unit = {
    val label = placement.label
    state.place(PlacedFilter(label.filterId, label.joinId, label.table, label.columns, applied, reason))
  }

  private def placedReason: Reason =
    if (context.mode == Mode.Apply) Reason(ReasonCode.FilterPays) else Reason(ReasonCode.ObserveMode, confKey = AqeConf.ModeKey.key)

  private def undecided(join: FoundJoin, joinState: JoinState, site: JoinSite, reason: Reason): JoinDecision =
    DecideJoin.leftAlone(reader.unmeasured(join, joinState, site), context.thresholds, reason)

  /** AQE did not find a filter again that it had built: were it asked for once more, planning would not come to an end. */
  private def isRepeated(site: JoinSite): Boolean =
    site.finishedStage.exists { case (stage, keys) => BuiltFilters.get(stage, keys).exists(_.times > 1) }

  private def refuseRepeated(joinId: String, site: JoinSite): Unit = site.targets.foreach { target =>
    val label = labelOf(target, joinId, "")
    state.place(PlacedFilter(label.filterId, joinId, label.table, label.columns, applied = false, Reason(ReasonCode.RepeatedRequest)))
  }

  private def placement(
      source: SparkPlan,
      keys: Seq[org.apache.spark.sql.catalyst.expressions.Attribute],
      target: ScanTarget,
      joinId: String,
      why: String,
      passRate: Double
  ): Placement = {
    source match {
      case stage: QueryStageExec => BuiltFilters.prepare(stage)
      case _                     =>
    }
    Placement(source, keys, target, labelOf(target, joinId, why), passRate)
  }

  private def labelOf(target: ScanTarget, joinId: String, why: String): FilterLabel = {
    val table = tableName(target.scan)
    val filterId = MurmurHash3.stringHash(s"$joinId>$table>${target.keys.map(_.exprId.id).mkString(",")}").toHexString
    FilterLabel(filterId, joinId, table, target.keys.map(_.name), why)
  }

  private def tableName(scan: SparkPlan): String = scan match {
    case file: FileSourceScanExec =>
      file.tableIdentifier.map(_.unquotedString).orElse(file.relation.location.rootPaths.headOption.map(_.getName)).getOrElse("files")
    case other => other.nodeName
  }
}
