package io.aqeplugin.rules

import io.aqeplugin.decide._
import io.aqeplugin.observe.{ByIdentity, FoundJoin, SizeEstimator}
import io.aqeplugin.place.{FilterRequest, JoinSite, ReuseGuard}

/** What the uses of shared scans let pass, each by itself. */
private[rules] final class UsesOfScans(context: RuleContext, estimator: JoinEstimator, sizes: SizeEstimator) {

  // By identity: comparing requests or joins walks their plans. Joins are decided while they are asked for, so only rates of undecided ones are kept.
  private val joins = ByIdentity.empty[FilterRequest, (FoundJoin, Side)]
  private val rates = ByIdentity.empty[FoundJoin, Double]
  // A join's site is asked for by each join above it, and most are in no union.
  private val inUnions = ByIdentity.empty[JoinSite, Boolean]

  /** Remembers which join made these requests; returns them. */
  def noted(join: FoundJoin, buildSide: Side, requests: Seq[FilterRequest]): Seq[FilterRequest] = {
    requests.foreach(joins.update(_, (join, buildSide)))
    requests
  }

  /** The share of the rows of the site's scans that must pass for other uses, by the rows of each. */
  def otherUsesPassRate(site: JoinSite, guard: ReuseGuard): Double =
    if (inUnions.getOrElseUpdate(site, site.requests.exists(guard.isOfUnion))) weighed(site, guard) else 0.0

  private def weighed(site: JoinSite, guard: ReuseGuard): Double = {
    val shares = site.targets.flatMap(site.request).map { request =>
      math.max(1.0, sizes(request.target.node).rows) -> math.min(1.0, guard.otherUsesPassRate(request, ownPassRate))
    }
    if (shares.forall(_._2 == 0)) 0.0 else shares.map { case (rows, rate) => rows * rate }.sum / shares.map(_._1).sum
  }

  private def ownPassRate(request: FilterRequest): Double = joins.get(request).fold(1.0) { case (join, buildSide) =>
    val name = context.state.nameOf(join.id)
    context.state.decision(name) match {
      case Some(decision) if decision.buildFilter => alone(decision.facts)
      // It lets every row pass.
      case Some(_) => 1.0
      case None    => rates.getOrElseUpdate(join, undecided(name, join, buildSide, request))
    }
  }

  /** By the build side's measured keys if it has finished; else by those that are expected. */
  private def undecided(name: String, join: FoundJoin, buildSide: Side, request: FilterRequest): Double = {
    val site = JoinSite(Some((request.source, request.sourceKeys)), Seq(request.target), Nil, None, request.bounds)
    val estimate = context.state.estimate(name).getOrElse(estimator.unweighed(join, buildSide, site))
    if (estimate.filterObstacle.isDefined) 1.0
    else
      FinishedJoin.of(join, buildSide, site, context.sketches).flatMap(_.facts(estimate, context))
        .fold(alone(expected(estimate)))(alone)
  }

  /** As where a wait is decided: an estimated share of the build rows says nothing of how many of the probe side's keys it holds. */
  private def expected(estimate: JoinFacts): JoinFacts = estimate.copy(probe = estimate.probe.withoutKeyRange)

  private def alone(facts: JoinFacts): Double = {
    val ofItself = facts.copy(probe = facts.probe.copy(otherUsesPassRate = 0))
    PassRate.estimate(ofItself, FilterSize.of(facts.build, context.thresholds), context.thresholds).value
  }
}
