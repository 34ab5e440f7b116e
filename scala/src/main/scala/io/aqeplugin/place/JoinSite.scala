package io.aqeplugin.place

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions.{BloomFilterMightContain, ExprId, Expression}
import org.apache.spark.sql.execution.{FilterExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec

import io.aqeplugin.decide.{ProbeFacts, ReasonCode, Side}
import io.aqeplugin.filters.RangeBounds
import io.aqeplugin.observe.{FoundJoin, JoinRange, Same, Total}

/** Where the filter of a join can come from and where it can go.
  *
  * @param source
  *   the build side's exchange or stage, with the keys of the filter over its columns
  * @param targets
  *   scans and inputs of exchanges that the keys reach and that may get a filter
  * @param refused
  *   those that the keys reach but that may get no filter, with the reason
  * @param obstacle
  *   why no filter is possible at all
  * @param bounds
  *   how the source's columns bound the scan's column; none if they equal the scan's columns
  * @param otherUsesPassRate
  *   share of the targets' rows that must pass for other uses of shared scans
  * @param shuffleShare
  *   the part of the probe side's shuffle that is spared if the join does without, see [[io.aqeplugin.decide.PathStep.Shared]]; none if there is none, or
  *   it has started
  */
final case class JoinSite(
    source: Option[(SparkPlan, Seq[Expression])],
    targets: Seq[FilterTarget],
    refused: Seq[(FilterTarget, ReasonCode)],
    obstacle: Option[ReasonCode],
    bounds: Option[RangeBounds] = None,
    otherUsesPassRate: Double = 0,
    shuffleShare: Option[Double] = None
) {

  /** The build side's stage, once it has finished. */
  def finishedStage: Option[(QueryStageExec, Seq[Expression])] = source.collect {
    case (stage: QueryStageExec, keys) if stage.isMaterialized => (stage, keys)
  }

  /** The filters of the site. */
  def requests: Seq[FilterRequest] = targets.flatMap(request)

  /** The filter of the site on `target`. */
  def request(target: FilterTarget): Option[FilterRequest] = source.map { case (source, keys) =>
    FilterRequest(source, keys, bounds, target)
  }

  /** What the keys reach: the targets, and what may get no filter, unless its rows go through a target. */
  def reached: Seq[FilterTarget] = {
    val exits = targets.filterNot(_.isScan).flatMap(_.exchanges.headOption)
    targets ++ refused.map(_._1).filterNot(_.exchanges.exists(exchange => exits.exists(_ eq exchange)))
  }

  /** The operators between the join and its targets, or what its keys reach where none may get a filter, as [[FilterTargets.steps]]. */
  lazy val steps: Seq[(SparkPlan, SparkPlan)] = FilterTargets.steps(if (targets.isEmpty) reached else targets)

  /** Whether all filters go in front of exchanges. */
  def isBeforeExchange: Boolean = targets.nonEmpty && targets.forall(!_.isScan)

  /** Whether a wait that was priced with these facts holds up the same as the filters of the site. */
  def isAsEstimated(probe: ProbeFacts): Boolean = targets.nonEmpty && isBeforeExchange == probe.beforeExchange

  /** The site without targets: all of them refused for `code`. */
  def refuseAll(code: ReasonCode): JoinSite =
    copy(targets = Nil, refused = refused ++ targets.map(target => (target, code)), obstacle = Some(code))
}

object JoinSite {

  /** The site, with everything that the keys reach as a target, whatever else uses it. */
  def reach(join: FoundJoin, buildSide: Side): JoinSite = join.range.fold(ofKeys(join, buildSide))(ofRange(join, _))

  private def ofRange(join: FoundJoin, range: JoinRange): JoinSite = {
    val build = join.child(range.buildSide)
    // A finished relation says at once what the range is worth, so it comes before a shuffle below it.
    val source =
      if (JoinRange.isFinishedBroadcast(build)) BuildExchange.named(build, range.build) else BuildExchange.of(build, range.build)
    source match {
      case _ if range.obstacle.isDefined                         => JoinSite(source, Nil, Nil, range.obstacle)
      case None                                                  => JoinSite(None, Nil, Nil, Some(ReasonCode.NoBuildExchange))
      case Some((exchange, keys)) if !Repeatable(exchange, keys) => JoinSite(source, Nil, Nil, Some(ReasonCode.NonDeterministic))
      case _                                                     =>
        // Unlike a condition beside equal keys, one beside bounds is evaluated on rows outside of them too.
        val total = join.node.expressions.forall(Total(_))
        JoinSite(source, FilterTargets.below(join.child(range.buildSide.other), Seq(range.probe), total), Nil, None, Some(range.bounds))
    }
  }

  private def ofKeys(join: FoundJoin, buildSide: Side): JoinSite = {
    val source = BuildExchange.of(join.child(buildSide), join.sourceKeys(buildSide))
    (join.heldKeys(buildSide), source) match {
      case (Left(reason), _)                                          => JoinSite(source, Nil, Nil, Some(reason.code))
      case (_, None)                                                  => JoinSite(None, Nil, Nil, Some(ReasonCode.NoBuildExchange))
      case (_, Some((exchange, keys))) if !Repeatable(exchange, keys) => JoinSite(source, Nil, Nil, Some(ReasonCode.NonDeterministic))
      case (Right(held), _)                                           =>
        val probe = buildSide.other
        // Before it looks for a partner, the join may compute the keys that the filter leaves out.
        val site = JoinSite(source, FilterTargets.below(join.child(probe), held.probe, held.leftOut.forall(Total(_))), Nil, None)
        if (join.kind.mayFilter(probe)) site else site.refuseAll(ReasonCode.JoinType)
    }
  }

  /** The site that was reached, without the targets that may get no filter. Of a build side that has finished, the filter goes in front of the
    * next exchange that is not shared in place of a scan that is; before that, plans that wait for one another could wait in a circle.
    *
    * @param isFirst
    *   whether the join's filter is not below a target already
    * @param isFiltered
    *   whether a plan has started with the join's filter
    */
  def judged(
      site: JoinSite,
      join: FoundJoin,
      buildSide: Side,
      guard: ReuseGuard,
      isFirst: FilterTarget => Boolean = _ => true,
      isFiltered: SparkPlan => Boolean = _ => false
  ): JoinSite = if (site.targets.isEmpty) site
  else {
    lazy val spark = if (guard.hasBloomFilters) filteredBySpark(join.child(buildSide.other)) else Set.empty[ExprId]
    def refusal(target: FilterTarget): Option[ReasonCode] =
      if (!site.request(target).forall(guard.keepsShared(_, join.id))) Some(ReasonCode.ReusedExchange)
      else if (target.columns.forall(k => spark.contains(k.exprId)) || guard.pruning.covers(target)) Some(ReasonCode.AlreadyFilteredBySpark)
      else None
    val (refused, allowed) = site.targets.partitionMap(target => refusal(target).map(target -> _).toLeft(target))
    val shared = refused.collect { case (target, ReasonCode.ReusedExchange) => target }
    val later =
      if (site.finishedStage.isDefined)
        highest(shared.flatMap(behind(_, allowed)(target => isFirst(target) && refusal(target).isEmpty)))
      else Nil
    def isMet(node: SparkPlan, own: Seq[FilterTarget]): Boolean =
      (own ++ later).exists(_.node eq node) || isFiltered(node) ||
        refused.exists { case (target, code) => (target.node eq node) && code == ReasonCode.AlreadyFilteredBySpark }
    val own = besideTheirLeft(allowed)(isMet)
    val left = if (own.size == allowed.size) Nil else allowed.filterNot(target => own.exists(_ eq target))
    val alone = left.map(_ -> refused.headOption.fold[ReasonCode](ReasonCode.ProbeStarted)(_._2))
    val targets = own ++ later
    site.copy(
      targets = targets,
      refused = refused ++ alone,
      obstacle = if (targets.nonEmpty) None else (refused ++ alone).headOption.map(_._2)
    )
  }

  /** Those of the targets that still have the filter on the left sides of the anti joins above them, if only these targets have it. */
  @tailrec
  private def besideTheirLeft(targets: Seq[FilterTarget])(isMet: (SparkPlan, Seq[FilterTarget]) => Boolean): Seq[FilterTarget] = {
    val kept = targets.filter(_.beside.forall(FilterTargets.meets(_)(isMet(_, targets))))
    if (kept.size == targets.size) kept else besideTheirLeft(kept)(isMet)
  }

  /** The first input of an exchange above a target that may have its filter, unless it reads what another target has filtered. */
  private def behind(target: FilterTarget, others: Seq[FilterTarget])(isAllowed: FilterTarget => Boolean): Option[FilterTarget] = {
    val exits = target.exits.filterNot(exit => others.exists(_.above.exists(_ eq exit.exchange)))
    exits.iterator.flatMap(_.target).find(isAllowed)
  }

  /** Each of the targets once, without those whose rows go through another one. */
  private def highest(targets: Seq[FilterTarget]): Seq[FilterTarget] = {
    val once = targets.distinctBy(target => Same(target.node))
    once.filterNot(target => once.exists(other => (other ne target) && target.above.drop(1).exists(_ eq other.node)))
  }

  /** Columns below `probe` that a Bloom filter of Spark's own already checks. */
  private def filteredBySpark(probe: SparkPlan) = probe.collect { case FilterExec(condition, _) =>
    condition.collect { case b: BloomFilterMightContain => b.valueExpression.references.map(_.exprId) }.flatten
  }.flatten.toSet
}
