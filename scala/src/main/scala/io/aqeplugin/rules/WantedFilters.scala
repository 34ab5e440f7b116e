package io.aqeplugin.rules

import java.util.IdentityHashMap

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanLike
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, Exchange}
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide._
import io.aqeplugin.exec.BuildRecord
import io.aqeplugin.observe._
import io.aqeplugin.place._
import io.aqeplugin.storage.KnownTables
import io.aqeplugin.tell.{ExplainSection, ExplainText}

/** The filters that the joins of one plan request, to wait or by their decision. */
private[rules] final class WantedFilters(plan: SparkPlan, context: RuleContext) {
  private val state = context.state

  private object decidedFilters extends DecidedFilters {
    override def passRate(joinId: String): Option[Double] = state.decision(joinId).filter(_.buildFilter).map(_.passRate)
    override def joinId(join: BaseJoinExec): Option[String] = JoinFinder.of(join).flatMap(found => state.knownNameOf(found.id))
  }
  private def newSizes: SizeEstimator =
    new SizeEstimator(context.thresholds(AqeConf.WaitKeptPerPredicate), context.tables, decidedFilters)
  private val sizes = newSizes
  private val waits = new PlannedWaits
  private val estimator = new JoinEstimator(plan, context, newSizes, sizes, waits, sitesBelow)
  private val (foreign, joins, ranges) = {
    val (keyed, ranged) = (JoinFinder.find(plan), JoinRange.find(plan))
    val found = keyed ++ ranged
    val foreign = ForeignJoins.of(plan, found, if (found.isEmpty) None else ColumnarRules.applied(plan))
    val ids = foreign.map(_.id).toSet
    (foreign, keyed.filterNot(join => ids(join.id)), ranged.filterNot(join => ids(join.id)))
  }
  private val uses = new UsesOfScans(context, estimator, sizes)
  private val shuffles = new UsesOfShuffles(context, joins, nameOf, sideOf, join => usedByPruning.contains(join.id))
  private lazy val guard =
    new ReuseGuard(
      plan,
      (joins ++ ranges.filter(mayBeRange)).flatMap(j => uses.noted(j, sideOf(j), reached(j, sideOf(j)).requests)),
      context.plans
    )
  private val shared = new SharedByPlans(context)

  private val reuses = SQLConf.get.exchangeReuseEnabled
  private lazy val usedByPruning = context.pruning.joinsIn(plan)

  /** The build side for which each join on equalities was judged. A join's filters must all go in one direction: two that went in opposite
    * directions would wait for each other.
    */
  private val directions = new IdentityHashMap[SparkPlan, Side]().asScala

  /** Starts to read what all tables say of themselves, concurrently. */
  def beginReadingTables(): Unit =
    plan.collectLeaves().filter(scan => KnownTables.keyOf(scan).exists(!state.knowsTable(_))).foreach(KnownTables.begin)

  /** Whether the plan has no join. */
  def isEmpty: Boolean = joins.isEmpty && ranges.isEmpty && foreign.isEmpty

  /** The filters that joins on equalities request now, and then those that joins by a range request. */
  def all: Seq[Placement] = {
    foreign.foreach(leftAlone)
    val placements = joins.flatMap(of) ++ ranges.filter(mayBeRange).flatMap(of)
    joins.foreach(noteShuffleShare)
    placements
  }

  /** What a join decided after another one means for a shuffle that both use. */
  private def noteShuffleShare(join: FoundJoin): Unit = {
    val name = nameOf(join)
    val undecided = if (state.decision(name).isEmpty) state.estimate(name).filter(_.probe.sharesShuffle) else None
    undecided.foreach { estimate =>
      val share = shuffles.share(join, estimate.buildSide, guard)
      if (estimate.probe.withOtherUses(None, share) != estimate.probe) state.noteOtherUses(name, estimate.buildSide, None, share)
    }
  }

  /** Of these filters, at most so many for a scan: those with which equal exchanges stay equal, and which do not make the plan too large. */
  def chosen(maxPerScan: Int): FiltersPerPlan = {
    val (within, outside) = shared.within(all)
    val alike = shared.agreed(FiltersPerPlan.choose(within, maxPerScan).alikeWithinGrowth(plan, guard))
    val chosen = alike.copy(refused = alike.refused ++ outside)
    val placed = chosen.kept.map(_.label.joinId).toSet
    chosen.refused.map(_._1.label.joinId).distinct.filterNot(placed).foreach(clocks.drop)
    chosen
  }

  private def mayBeRange(join: FoundJoin): Boolean = {
    val keyed = JoinFinder.of(join.node)
    val buildSide = keyed.map(one => directions.getOrElseUpdate(one.node, estimator.buildSide(one)))
    buildSide.forall(side => join.range.exists(_.buildSide == side)) && !insidePruningBuilds(join.node)
  }

  /** Joins inside the broadcasts that dynamic partition pruning may use, which must stay as Spark planned them. */
  private lazy val insidePruningBuilds: SparkPlan => Boolean = {
    val inside = new IdentityHashMap[SparkPlan, Unit]().asScala
    if (context.pruning.queries.nonEmpty)
      plan.foreach { case broadcast: BroadcastExchangeLike => broadcast.foreach(inside.update(_, ())); case _ => }
    inside.contains
  }

  private val names = new IdentityHashMap[FoundJoin, String]().asScala
  private def nameOf(join: FoundJoin): String = names.getOrElseUpdate(join, state.nameOf(join.id))

  // To follow the keys down costs most. The guard asks for all joins of the plan, and then each join is judged.
  private val sites = new IdentityHashMap[FoundJoin, Map[Side, JoinSite]]().asScala

  private def reached(join: FoundJoin, buildSide: Side): JoinSite = {
    val known = sites.getOrElse(join, Map.empty)
    known.getOrElse(
      buildSide, {
        val site = reachedNow(join, buildSide)
        sites.update(join, known.updated(buildSide, site))
        site
      }
    )
  }

  private def reachedNow(join: FoundJoin, buildSide: Side): JoinSite = {
    val site = JoinSite.reach(join, buildSide)
    site.copy(targets = site.targets.filter(isFirst(join, _)))
  }

  private def isStartedWith(join: FoundJoin, node: SparkPlan): Boolean =
    node.isInstanceOf[QueryStageExec] && StartedFilters.isIn(node, nameOf(join))

  /** What has been filtered further down is not filtered again in front of an exchange. */
  private def isFirst(join: FoundJoin, target: FilterTarget): Boolean = target.isScan || !StartedFilters.isIn(target.node, nameOf(join))

  private def judged(join: FoundJoin, buildSide: Side): JoinSite =
    JoinSite.judged(reached(join, buildSide), join, buildSide, guard, isFirst(join, _), isStartedWith(join, _))

  /** The filters that a join requests now. */
  private def of(join: FoundJoin): Seq[Placement] =
    // Finding the scans that its keys reach costs most, and a join that was decided without a filter needs none.
    state.decision(nameOf(join)) match {
      case Some(decision) if !decision.buildFilter =>
        explain(join, ExplainText.line(decision))
        Nil
      case _ if usedByPruning.contains(join.id) => leftAlone(join)
      case _                                    => sought(join)
    }

  // Filled while joins are judged.
  private val builds = mutable.ArrayBuffer.empty[SketchedBuild]

  /** The build sides that have not started and that a probe side waits for: what their keys are will decide the joins. */
  def sketched: Seq[SketchedBuild] = builds.toSeq

  private val clocks = new WaitClocks(context, estimator, System.nanoTime())

  /** When the waits of the plan are to be checked, as `System.nanoTime`; none if there is none to check. */
  def nextCheckNanos: Option[Long] = clocks.nextNanos

  private def sought(join: FoundJoin): Seq[Placement] = {
    val (known, site) = remembered(join)
    val estimate = if (site.finishedStage.isDefined) known else clocks.checked(join, known, site)
    if (join.range.isEmpty) directions.update(join.node, estimate.buildSide)
    shared.note(site.targets.flatMap(_.exchanges.headOption))
    lazy val ofOtherPlan = if (context.plans.isShared(join.id)) state.decision(nameOf(join)).filter(isWanted(_, estimate)) else None
    decided(join, estimate, site) match {
      case Some(decision) =>
        explain(join, ExplainText.line(decision))
        val isRepeated = isWanted(decision, estimate) && wasBuiltTwice(site)
        if (isRepeated) refuseRepeated(nameOf(join), site)
        if (isWanted(decision, estimate) && !isRepeated) placements(nameOf(join), site, ExplainText.short(decision), decision.passRate)
        else Nil
      // AQE finds what the other plan has built once this one asks for it.
      case None if ofOtherPlan.isDefined =>
        ofOtherPlan.toSeq.flatMap { decision =>
          explain(join, ExplainText.line(decision))
          placements(nameOf(join), site, ExplainText.short(decision), decision.passRate)
        }
      case None =>
        val reason = site.obstacle.map(Reason(_)).orElse(estimate.waiting.map(_.reason)).getOrElse(Reason(ReasonCode.FactsMissing))
        val mayWait = site.isAsEstimated(estimate.probe) && estimate.waiting.exists(_.waits)
        if (join.range.isEmpty && mayWait) sketch(site)
        estimate.waiting.filter(_ => mayWait).foreach(wait => waits.add(site.targets.map(_.node), wait.buildMillis))
        val unfiltered = state.leaveAloneOnce(nameOf(join), (estimate, site.targets.size, reason))(undecided(join, estimate, site, reason))
        explain(join, ExplainText.undecided(unfiltered, mayWait))
        if (mayWait) placements(nameOf(join), site, "waits for its build side", unfiltered.passRate) else Nil
    }
  }

  private def isWanted(decision: JoinDecision, estimate: JoinFacts): Boolean =
    decision.buildFilter && decision.facts.buildSide == estimate.buildSide

  /** The joins between a join and its targets that have a target below their build side. */
  private def sitesBelow(join: FoundJoin, site: JoinSite): Seq[(FoundJoin, Side, JoinSite)] = {
    val steps = site.targets.flatMap(target => target.above.zip(target.above.drop(1))).filter(_._2.isInstanceOf[BaseJoinExec])
    if (steps.isEmpty) Nil
    else
      for {
        below <- joins if (below.node ne join.node) && steps.exists(_._2 eq below.node)
        side = sideOf(below) if steps.exists { case (child, node) => (node eq below.node) && (child eq below.child(side)) }
      } yield (below, side, siteOf(below, side))
  }

  // Those of this plan alone: a copied node brings lines of an earlier plan, in which another range may have been judged.
  private val explained = new IdentityHashMap[SparkPlan, Seq[ExplainSection.Line]]().asScala

  private def explain(join: FoundJoin, text: => String): Unit = explain(join.node, nameOf(join), text)

  private def explain(node: SparkPlan, name: String, text: => String): Unit = {
    val line = state.explainLine(name)
    line.set(() => text)
    explained.update(node, explained.getOrElse(node, Nil) :+ line)
    ExplainSection.note(node, explained(node))
  }

  private def sketch(site: JoinSite): Unit = site.source.foreach {
    case (exchange: Exchange, keys) if context.sketches => builds += SketchedBuild(exchange, keys)
    case _                                              =>
  }

  private def decided(join: FoundJoin, estimate: JoinFacts, site: JoinSite): Option[JoinDecision] =
    FinishedJoin.of(join, estimate.buildSide, site, context.sketches).flatMap { finished =>
      context.decideOnce(nameOf(join))(finished.facts(ofPresentTargets(join, estimate, site), context))
    }

  /** The estimate for the targets that there are now: since it was made, the scans may have started, or turned out to be shared. */
  private def ofPresentTargets(join: FoundJoin, estimate: JoinFacts, site: JoinSite): JoinFacts =
    if (site.targets.isEmpty || site.targets.forall(_.isScan) && !estimate.probe.beforeExchange) estimate
    else estimate.copy(probe = estimator.estimate(join, estimate.buildSide, site).probe)

  /** No filter and no estimate: [[ChooseJoinStrategy]] handles no join without an estimate. */
  private def leftAlone(join: FoundJoin): Seq[Placement] = {
    val decision = state.leaveAloneOnce(nameOf(join), ReasonCode.ReusedExchange) {
      val side = estimator.buildSide(join)
      val site = judged(join, side).refuseAll(ReasonCode.ReusedExchange)
      undecided(join, estimator.estimate(join, side, site), site, Reason(ReasonCode.ReusedExchange))
    }
    explain(join, ExplainText.line(decision))
    Nil
  }

  /** Neither an estimate nor anything in the plan. A later change that makes filters work with an engine's own operators begins here. */
  private def leftAlone(join: ForeignJoin): Unit = {
    val name = state.nameOf(join.id)
    val reason = Reason(ReasonCode.ForeignNode, subject = join.foreign)
    val decision = state.leaveAloneOnce(name, reason)(DecideJoin.leftAlone(estimator.unseen(join), context.thresholds, reason))
    explain(join.node, name, ExplainText.line(decision))
  }

  /** The join's estimate in the query's state, with the site for its build side: another thread may plan the same join concurrently. */
  private def remembered(join: FoundJoin): (JoinFacts, JoinSite) = {
    // Until then, what other stages have given may change the estimate.
    val sideRuns = FinishedJoin.hasStarted(join)
    if (sideRuns) state.keepEstimate(nameOf(join)) else state.forgetEstimate(nameOf(join))
    val side = sideOf(join)
    val site = siteOf(join, side)
    val estimate = state.estimateOnce(nameOf(join), sideRuns)(estimator.estimate(join, side, site))
    val now = if (estimate.buildSide == side) site else siteOf(join, estimate.buildSide)
    val otherUsesPassRate = if (now.targets.isEmpty) None else Some(now.otherUsesPassRate)
    val seen = estimate.probe.withOtherUses(otherUsesPassRate, now.shuffleShare)
    if (seen == estimate.probe) (estimate, now)
    else {
      state.noteOtherUses(nameOf(join), estimate.buildSide, otherUsesPassRate, now.shuffleShare)
      (estimate.copy(probe = seen), now)
    }
  }

  private def sideOf(join: FoundJoin): Side = state.estimate(nameOf(join)).fold(estimator.buildSide(join))(_.buildSide)

  private def siteOf(join: FoundJoin, buildSide: Side): JoinSite = {
    val site = filterable(join, buildSide)
    if (reuses) site.copy(shuffleShare = shuffles.share(join, buildSide, guard)) else site
  }

  private def filterable(join: FoundJoin, buildSide: Side): JoinSite = {
    val site = judged(join, buildSide)
    if (site.targets.isEmpty) site
    else if (!reuses) site.refuseAll(ReasonCode.ReuseOff)
    else if (site.source.exists { case (source, _) => source.exists(isCacheToLoad) }) site.refuseAll(ReasonCode.CacheNotLoaded)
    else site.copy(otherUsesPassRate = uses.otherUsesPassRate(site, guard))
  }

  /** Whether AQE would load a cached table once for each copy of the plan. Once it has made a stage of the table, all copies use that
    * stage.
    */
  private def isCacheToLoad(plan: SparkPlan): Boolean = plan match {
    case scan: InMemoryTableScanLike => !scan.isMaterialized
    case _                           => false
  }

  private def undecided(join: FoundJoin, estimate: JoinFacts, site: JoinSite, reason: Reason): JoinDecision =
    DecideJoin.leftAlone(estimator.unmeasured(join, estimate, site), context.thresholds, reason)

  /** Whether AQE did not find a filter that it had built. Requesting it again would make planning endless. */
  private def wasBuiltTwice(site: JoinSite): Boolean =
    site.finishedStage.exists { case (stage, keys) => BuildRecord.get(stage, keys, site.bounds).exists(_.times > 1) }

  private def refuseRepeated(joinId: String, site: JoinSite): Unit = site.targets.foreach { target =>
    ReportedDecisions.note(state, ReportedDecisions.labelOf(target, joinId, ""), applied = false, Reason(ReasonCode.RepeatedRequest))
  }

  private def placements(joinId: String, site: JoinSite, why: String, passRate: Double): Seq[Placement] = {
    site.targets.foreach(target => sizes.filter(target.node, passRate))
    site.source.foreach { case (source, _) => prepare(source) }
    val requests = site.targets.flatMap(site.request)
    requests.map(r => Placement(r, ReportedDecisions.labelOf(r.target, joinId, why), passRate))
  }

  private def prepare(source: SparkPlan): Unit = source match {
    case stage: QueryStageExec => BuildRecord.prepare(stage)
    case _                     =>
  }
}
