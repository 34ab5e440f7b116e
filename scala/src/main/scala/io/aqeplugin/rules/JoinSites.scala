package io.aqeplugin.rules

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanLike
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide._
import io.aqeplugin.observe._
import io.aqeplugin.place._

/** For each join of one plan: its build side, and where a filter of that side's keys may go. */
private[rules] final class JoinSites(plan: SparkPlan, context: RuleContext, joins: PlanJoins) {
  private val state = context.state

  private object decidedFilters extends DecidedFilters {
    override def passRate(joinId: String): Option[Double] = state.decision(joinId).filter(_.buildFilter).map(_.passRate)
    override def joinId(join: BaseJoinExec): Option[String] = JoinFinder.of(join).flatMap(found => state.knownNameOf(found.id))
  }

  /** What scans give, with the filters of the joins that were judged before. */
  val sizes: SizeEstimator = new SizeEstimator(context.thresholds(AqeConf.WaitKeptPerPredicate), context.tables, decidedFilters)
  val waits = new PlannedWaits
  val estimator = new JoinEstimator(plan, context, sizes.withoutFilters, sizes, waits, below)

  /** The build side for which each join on equalities was judged. A join's filters must all go in one direction: two that went in opposite
    * directions would wait for each other.
    */
  private val directions = ByIdentity.empty[SparkPlan, Side]

  /** The joins by a range that may have a filter now: those without another direction, outside of what dynamic pruning uses. */
  def ranged: Seq[FoundJoin] = joins.ranged.filter { join =>
    val keyed = JoinFinder.of(join.node)
    val buildSide = keyed.map(one => directions.getOrElseUpdate(one.node, estimator.buildSide(one)))
    buildSide.forall(side => join.range.exists(_.buildSide == side)) && !joins.isInPruningBuild(join)
  }

  def noteDirection(join: FoundJoin, buildSide: Side): Unit = if (join.range.isEmpty) directions.update(join.node, buildSide)

  /** The build side of a join: that of its estimate, if there is one. */
  def buildSideOf(join: FoundJoin): Side = state.estimate(joins.nameOf(join)).fold(estimator.buildSide(join))(_.buildSide)

  /** Where the filter of a join may go, and what other uses of the scans and of the join's shuffle need. */
  def of(join: FoundJoin, buildSide: Side): JoinSite = {
    val site = allowed(join, buildSide)
    val passRate = if (site.targets.isEmpty) 0.0 else uses.otherUsesPassRate(site, guard)
    val share = if (reuses) shuffleShare(join, buildSide) else None
    // Each join above asks for the site, whose steps are found once.
    if (passRate == 0 && share.isEmpty) site
    else
      usedSites.get(site).filter(used => used.otherUsesPassRate == passRate && used.shuffleShare == share).getOrElse {
        val used = site.copy(otherUsesPassRate = passRate, shuffleShare = share)
        usedSites.update(site, used)
        used
      }
  }

  /** The latest site with what other uses need, by the site without. */
  private val usedSites = ByIdentity.empty[JoinSite, JoinSite]

  /** The joins between a join and its targets that have a target below their build side. */
  private def below(join: FoundJoin, site: JoinSite): Seq[(FoundJoin, Side, JoinSite)] =
    if (site.targets.isEmpty) Nil
    else {
      // Copies of a site share its targets.
      val steps = passedJoins.getOrElseUpdate(site.targets, ByIdentity.grouped(site.steps.filter(_._1.isInstanceOf[BaseJoinExec])))
      if (steps.isEmpty) Nil
      else for {
        below <- joins.keyed if below.node ne join.node
        children <- steps.get(below.node).toSeq
        side = buildSideOf(below) if children.exists(_ eq below.child(side))
      } yield (below, side, of(below, side))
    }

  private val passedJoins = ByIdentity.empty[Seq[FilterTarget], collection.Map[SparkPlan, Seq[SparkPlan]]]

  // To follow the keys down costs most. The guard asks for all joins of the plan, then each join is judged, and again for each join above it.
  private val reachedSites = new SitesOnce
  private val allowedSites = new SitesOnce

  /** Where the keys of a join reach, without what may get no filter. */
  def allowed(join: FoundJoin, buildSide: Side): JoinSite = allowedSites(join, buildSide)(
    usable(JoinSite.judged(reached(join, buildSide), join, buildSide, guard, isFirst(join, _), isStartedWith(join, _)))
  )

  private def reached(join: FoundJoin, buildSide: Side): JoinSite = reachedSites(join, buildSide) {
    val all = JoinSite.reach(join, buildSide)
    all.copy(targets = all.targets.filter(isFirst(join, _)))
  }

  private def isStartedWith(join: FoundJoin, node: SparkPlan): Boolean =
    node.isInstanceOf[QueryStageExec] && StartedFilters.isIn(node, joins.nameOf(join))

  /** What has been filtered further down is not filtered again in front of an exchange. */
  private def isFirst(join: FoundJoin, target: FilterTarget): Boolean =
    target.isScan || !StartedFilters.isIn(target.node, joins.nameOf(join))

  private final class SitesOnce {
    private val sites = ByIdentity.empty[FoundJoin, Map[Side, JoinSite]]

    def apply(join: FoundJoin, buildSide: Side)(make: => JoinSite): JoinSite = {
      val known = sites.getOrElse(join, Map.empty)
      known.getOrElse(
        buildSide, {
          val site = make
          sites.update(join, sites.getOrElse(join, Map.empty).updated(buildSide, site))
          site
        }
      )
    }
  }

  // What other uses of scans and shuffles need.

  private val reuses = SQLConf.get.exchangeReuseEnabled
  private val uses = new UsesOfScans(context, estimator, sizes)
  private val shuffles = new UsesOfShuffles(context, joins, buildSideOf)

  lazy val guard: ReuseGuard = new ReuseGuard(
    plan,
    (joins.keyed ++ ranged).flatMap { join =>
      val buildSide = buildSideOf(join)
      uses.noted(join, buildSide, reached(join, buildSide).requests)
    },
    context.plans
  )

  /** See [[io.aqeplugin.place.JoinSite.shuffleShare]]. */
  def shuffleShare(join: FoundJoin, buildSide: Side): Option[Double] = shuffles.share(join, buildSide, guard)

  private def usable(site: JoinSite): JoinSite =
    if (site.targets.isEmpty) site
    else if (!reuses) site.refuseAll(ReasonCode.ReuseOff)
    else if (context.engine.exists(engine => !site.targets.forall(EngineForm.isFor(engine, _))))
      site.refuseAll(ReasonCode.EngineKey)
    else if (site.source.exists { case (source, _) => source.exists(isCacheToLoad) }) site.refuseAll(ReasonCode.CacheNotLoaded)
    else site

  /** Whether AQE would load a cached table once for each copy of the plan. Once it has made a stage of the table, all copies use that
    * stage.
    */
  private def isCacheToLoad(plan: SparkPlan): Boolean = plan match {
    case scan: InMemoryTableScanLike => !scan.isMaterialized
    case _                           => false
  }
}
