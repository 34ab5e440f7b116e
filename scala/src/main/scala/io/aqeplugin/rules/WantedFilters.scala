package io.aqeplugin.rules

import scala.collection.mutable

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.Exchange

import io.aqeplugin.decide._
import io.aqeplugin.exec.BuildRecord
import io.aqeplugin.observe._
import io.aqeplugin.place._
import io.aqeplugin.storage.KnownTables
import io.aqeplugin.tell.{ExplainSection, ExplainText}

/** The filters that the joins of one plan want: while they wait for their build side, or by their decision. */
private[rules] final class WantedFilters(plan: SparkPlan, context: RuleContext) {
  private val state = context.state
  private val joins = new PlanJoins(plan, context)
  private val sites = new JoinSites(plan, context, joins)
  private val clocks = new WaitClocks(context, System.nanoTime())
  private val shared = new SharedByPlans(context)

  /** Whether the plan has no join. */
  def isEmpty: Boolean = joins.isEmpty

  /** Starts to read what all tables say of themselves, concurrently. */
  def beginReadingTables(): Unit =
    plan.collectLeaves().filter(scan => KnownTables.keyOf(scan).exists(!state.knowsTable(_))).foreach(KnownTables.begin)

  /** Of these filters, at most so many for a scan: those with which equal exchanges stay equal, and which do not make the plan too large. */
  def chosen(maxPerScan: Int): FiltersPerPlan = {
    val (within, outside) = shared.within(all)
    val alike = shared.agreed(FiltersPerPlan.choose(within, maxPerScan).alikeWithinGrowth(plan, sites.guard))
    val chosen = alike.copy(refused = alike.refused ++ outside)
    val placed = chosen.kept.map(_.label.joinId).toSet
    chosen.refused.map(_._1.label.joinId).distinct.filterNot(placed).foreach(clocks.drop)
    chosen
  }

  // Filled while joins are judged.
  private val builds = mutable.ArrayBuffer.empty[SketchedBuild]

  /** The build sides that have not started and that a probe side waits for: what their keys are will decide the joins. */
  def sketched: Seq[SketchedBuild] = builds.toSeq

  /** When the waits of the plan are to be checked, as `System.nanoTime`; none if there is none to check. */
  def nextCheckNanos: Option[Long] = clocks.nextNanos

  /** The filters that joins on equalities want now, and then those that joins by a range want. */
  def all: Seq[Placement] = {
    joins.foreign.foreach(leaveAlone)
    val placements = joins.keyed.flatMap(ofJoin) ++ sites.ranged.flatMap(ofJoin)
    joins.keyed.foreach(noteShuffleShare)
    placements
  }

  private def ofJoin(join: FoundJoin): Seq[Placement] =
    // Finding the scans that its keys reach costs most, and a join that was decided without a filter needs none.
    state.decision(joins.nameOf(join)) match {
      case Some(decision) if !decision.buildFilter => explain(join, decision); Nil
      case _ if joins.isUsedByPruning(join)        => leaveAlone(join); Nil
      case _                                       => ofOpenJoin(join)
    }

  /** Of a join that is not decided against a filter: estimates it, checks its wait, and decides it if its build side has finished. */
  private def ofOpenJoin(join: FoundJoin): Seq[Placement] = {
    val (known, site) = estimated(join)
    val estimate = if (site.finishedStage.isDefined) known else clocks.checked(join, known, site)
    sites.noteDirection(join, estimate.buildSide)
    shared.note(site.targets.flatMap(_.exchanges.headOption))
    decided(join, estimate, site) match {
      case Some(decision) => byDecision(join, decision, isWanted(decision, estimate) && !isBuiltInVain(join, site), site)
      // AQE finds what another plan has built once this one asks for it.
      case None => ofOtherPlan(join, estimate).fold(whileUndecided(join, estimate, site))(byDecision(join, _, isWanted = true, site))
    }
  }

  private def isWanted(decision: JoinDecision, estimate: JoinFacts): Boolean =
    decision.buildFilter && decision.facts.buildSide == estimate.buildSide

  private def byDecision(join: FoundJoin, decision: JoinDecision, isWanted: Boolean, site: JoinSite): Seq[Placement] = {
    explain(join, decision)
    if (isWanted) placements(join, site, ExplainText.short(decision), decision.passRate) else Nil
  }

  private def ofOtherPlan(join: FoundJoin, estimate: JoinFacts): Option[JoinDecision] =
    if (context.plans.isShared(join.id)) state.decision(joins.nameOf(join)).filter(isWanted(_, estimate)) else None

  private def whileUndecided(join: FoundJoin, estimate: JoinFacts, site: JoinSite): Seq[Placement] = {
    val reason = site.obstacle.map(Reason(_)).orElse(estimate.waiting.map(_.reason)).getOrElse(Reason(ReasonCode.FactsMissing))
    val waits = site.isAsEstimated(estimate.probe) && estimate.waiting.exists(_.waits)
    if (waits) {
      if (join.range.isEmpty) sketch(site)
      estimate.waiting.foreach(wait => sites.waits.add(site.targets.map(_.node), wait.buildMillis))
    }
    val unfiltered =
      state.leaveAloneOnce(joins.nameOf(join), (estimate, site.targets.size, reason))(undecided(join, estimate, site, reason))
    explainUndecided(join, unfiltered, waits)
    if (waits) placements(join, site, "waits for its build side", unfiltered.passRate) else Nil
  }

  private def sketch(site: JoinSite): Unit = site.source.foreach {
    case (exchange: Exchange, keys) if context.sketches => builds += SketchedBuild(exchange, keys)
    case _                                              =>
  }

  /** The join's estimate in the query's state, with the site for its build side: another thread may plan the same join concurrently. */
  private def estimated(join: FoundJoin): (JoinFacts, JoinSite) = {
    val name = joins.nameOf(join)
    // Until then, what other stages have given may change the estimate.
    val sideRuns = FinishedJoin.hasStarted(join)
    if (sideRuns) state.keepEstimate(name) else state.forgetEstimate(name)
    val side = sites.buildSideOf(join)
    val site = sites.of(join, side)
    val estimate = state.estimateOnce(name, sideRuns)(sites.estimator.estimate(join, side, site))
    val now = if (estimate.buildSide == side) site else sites.of(join, estimate.buildSide)
    val otherUsesPassRate = if (now.targets.isEmpty) None else Some(now.otherUsesPassRate)
    val seen = estimate.probe.withOtherUses(otherUsesPassRate, now.shuffleShare)
    if (seen == estimate.probe) (estimate, now)
    else {
      state.noteOtherUses(name, estimate.buildSide, otherUsesPassRate, now.shuffleShare)
      (estimate.copy(probe = seen), now)
    }
  }

  /** What a join decided after another one means for a shuffle that both use. */
  private def noteShuffleShare(join: FoundJoin): Unit = {
    val name = joins.nameOf(join)
    val undecided = if (state.decision(name).isEmpty) state.estimate(name).filter(_.probe.sharesShuffle) else None
    undecided.foreach { estimate =>
      val share = sites.shuffleShare(join, estimate.buildSide)
      if (estimate.probe.withOtherUses(None, share) != estimate.probe) state.noteOtherUses(name, estimate.buildSide, None, share)
    }
  }

  private def decided(join: FoundJoin, estimate: JoinFacts, site: JoinSite): Option[JoinDecision] = site.finishedStage.flatMap { _ =>
    context.decideOnce(joins.nameOf(join)) {
      FinishedJoin.of(join, estimate.buildSide, site, context.sketches)
        .flatMap(_.facts(ofPresentTargets(join, estimate, site), context))
    }
  }

  /** The estimate for the targets that there are now: since it was made, the scans may have started, or turned out to be shared. */
  private def ofPresentTargets(join: FoundJoin, estimate: JoinFacts, site: JoinSite): JoinFacts =
    if (site.targets.isEmpty || site.targets.forall(_.isScan) && !estimate.probe.beforeExchange) estimate
    else estimate.copy(probe = sites.estimator.estimate(join, estimate.buildSide, site).probe)

  /** No filter and no estimate: [[ChooseJoinStrategy]] handles no join without an estimate. */
  private def leaveAlone(join: FoundJoin): Unit = {
    val decision = state.leaveAloneOnce(joins.nameOf(join), ReasonCode.ReusedExchange) {
      val side = sites.estimator.buildSide(join)
      val site = sites.allowed(join, side).refuseAll(ReasonCode.ReusedExchange)
      undecided(join, sites.estimator.estimate(join, side, site), site, Reason(ReasonCode.ReusedExchange))
    }
    explain(join, decision)
  }

  /** Neither an estimate nor anything in the plan. */
  private def leaveAlone(join: ForeignJoin): Unit = {
    val name = state.nameOf(join.id)
    val reason = Reason(ReasonCode.ForeignNode, subject = join.foreign)
    val decision = state.leaveAloneOnce(name, reason)(DecideJoin.leftAlone(sites.estimator.unseen(join), context.thresholds, reason))
    explain(join.node, name, decision)
  }

  private def undecided(join: FoundJoin, estimate: JoinFacts, site: JoinSite, reason: Reason): JoinDecision =
    DecideJoin.leftAlone(sites.estimator.unmeasured(join, estimate, site), context.thresholds, reason)

  /** Whether AQE did not find a filter that it had built, which then is refused: requesting it again would make planning endless. */
  private def isBuiltInVain(join: FoundJoin, site: JoinSite): Boolean = {
    val builtTwice = site.finishedStage.exists { case (stage, keys) => BuildRecord.get(stage, keys, site.bounds).exists(_.times > 1) }
    if (builtTwice) site.targets.foreach { target =>
      val label = ReportedDecisions.labelOf(target, joins.nameOf(join), "")
      ReportedDecisions.note(state, label, applied = false, Reason(ReasonCode.RepeatedRequest))
    }
    builtTwice
  }

  private def placements(join: FoundJoin, site: JoinSite, why: String, passRate: Double): Seq[Placement] = {
    site.targets.foreach(target => sites.sizes.filter(target.node, passRate))
    site.source.foreach { case (stage: QueryStageExec, _) => BuildRecord.prepare(stage); case _ => }
    site.requests.map(one => Placement(one, ReportedDecisions.labelOf(one.target, joins.nameOf(join), why), passRate))
  }

  // Those of this plan alone: a copied node brings lines of an earlier plan, in which another range may have been judged.
  private val explained = ByIdentity.empty[SparkPlan, Seq[ExplainLine]]

  private def explain(join: FoundJoin, decision: JoinDecision): Unit = explain(join.node, joins.nameOf(join), decision)

  private def explain(node: SparkPlan, name: String, decision: JoinDecision): Unit = {
    val line = state.explainLine(name)
    line.tell(decision, isWaiting = false)(ExplainText.line(decision))
    note(node, line)
  }

  private def explainUndecided(join: FoundJoin, decision: JoinDecision, waits: Boolean): Unit = {
    val line = state.explainLine(joins.nameOf(join))
    line.tell(decision, waits)(ExplainText.undecided(decision, waits))
    note(join.node, line)
  }

  private def note(node: SparkPlan, line: ExplainLine): Unit = {
    explained.update(node, explained.getOrElse(node, Nil) :+ line)
    ExplainSection.note(node, explained(node))
  }
}
