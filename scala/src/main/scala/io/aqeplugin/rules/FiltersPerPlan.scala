package io.aqeplugin.rules

import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide.{Reason, ReasonCode}
import io.aqeplugin.observe.ByIdentity
import io.aqeplugin.place.{FilterTarget, Placement, PlanGrowth, ReuseGuard}

/** The filters of a plan. Those of a union are placements one after the other for each scan, and the scan is not the request's own.
  *
  * @param refused
  *   the filters above a limit, each with the reason
  */
final case class FiltersPerPlan(kept: Seq[Placement], refused: Seq[(Placement, Reason)]) {

  /** The filters whose sources add no more operators to `plan` than the limit, the most selective first, and of them those that all copies of
    * an exchange keep.
    */
  def alikeWithinGrowth(plan: SparkPlan, guard: ReuseGuard): FiltersPerPlan = {
    val growth = new PlanGrowth(plan)
    def isSmall(filters: FiltersPerPlan): Boolean = growth.of(filters.kept) <= FiltersPerPlan.MaxAddedOperators
    val alike = alikeInCopies(guard)
    if (isSmall(alike)) alike
    else {
      val fewer = smallest(growth).alikeInCopies(guard)
      if (isSmall(fewer)) fewer
      else {
        // Unions put filters on scans that are not their own.
        val (ofUnions, own) = fewer.kept.partition(_.union.isDefined)
        FiltersPerPlan(own, fewer.refused ++ ofUnions.map(_ -> FiltersPerPlan.tooManyOperators))
      }
    }
  }

  private def smallest(growth: PlanGrowth): FiltersPerPlan = {
    val best = kept.indices.sortBy(kept(_).expectedPassRate).foldLeft(Set.empty[Int]) { (some, i) =>
      val more = some + i
      if (growth.of(kept.indices.filter(more).map(kept)) <= FiltersPerPlan.MaxAddedOperators) more else some
    }
    val (few, others) = kept.indices.partition(best)
    FiltersPerPlan(few.map(kept), refused ++ others.map(kept(_) -> FiltersPerPlan.tooManyOperators))
  }

  /** The filters that all copies of an exchange keep, alike or as a union of what each keeps; they are in the same order in all copies. */
  private def alikeInCopies(guard: ReuseGuard): FiltersPerPlan = {
    val carried = new guard.Carried(kept.map(_.request))
    val (alike, others) = kept.partition(placement => carried.isAlike(placement.request))
    val ofRequest = ByIdentity.of(others.map(placement => placement.request -> placement))
    val unions = carried.unions(request => ofRequest.get(request).fold(1.0)(_.expectedPassRate))
      .map(union => FilterUnion(union.members.flatMap(ofRequest.get), union.targets))
    val (placed, tooLarge) = FiltersPerPlan.withinLimits(unions, alike.size)
    val members = placed.flatMap(_.members)
    FiltersPerPlan(
      alike.sortBy(placement => guard.rank(placement.request)) ++ placed.zipWithIndex.flatMap { case (union, i) => union.placements(i) },
      refused ++ tooLarge.flatMap(_.members).map(_ -> FiltersPerPlan.tooManyOnPlan) ++
        others.filterNot(one => (members ++ tooLarge.flatMap(_.members)).exists(_ eq one)).map(_ -> Reason(ReasonCode.ReusedExchange))
    )
  }
}

/** Filters of which a row needs to pass one, on each of the scans that Spark runs once. */
private[rules] final case class FilterUnion(members: Seq[Placement], targets: Seq[FilterTarget]) {

  /** An upper bound; the members were decided at different times, and the last one knew most. */
  def passRate: Double = members.map(_.expectedPassRate).max

  /** Number of filters that it adds to the plan. */
  def size: Int = members.size * targets.size

  def placements(number: Int): Seq[Placement] = for {
    target <- targets
    member <- members
  } yield member.copy(request = member.request.copy(target = target), expectedPassRate = passRate, union = Some(number))
}

object FiltersPerPlan {

  /** Maximum number of filters on one plan. */
  private val MaxPerPlan = 64

  /** Maximum number of operators in the sources of all filters of a plan. */
  private val MaxAddedOperators = 4096

  /** Maximum number of filters in a union: a row that passes none is checked by all. */
  private val MaxPerUnion = 8

  /** The unions that a plan with so many other filters has room for, the most selective first, and the others. */
  private def withinLimits(unions: Seq[FilterUnion], others: Int): (Seq[FilterUnion], Seq[FilterUnion]) = {
    val bySelectivity = unions.filter(_.members.size <= MaxPerUnion).sortBy(_.passRate)
    val sizes = bySelectivity.scanLeft(others)(_ + _.size).tail
    val placed = bySelectivity.zip(sizes).collect { case (union, size) if size <= MaxPerPlan => union }
    unions.partition(union => placed.exists(_ eq union))
  }

  /** The most selective filters of each scan and of the plan. A filter below the right side of an anti join goes with any other that its join
    * loses: without the filter of the left side, it would leave more rows of the join.
    */
  def choose(wanted: Seq[Placement], maxPerScan: Int): FiltersPerPlan = {
    // By position, and scans by identity: placements contain plans, and hashing a plan walks all of it.
    val perScan = ByIdentity.grouped(wanted.indices.map(i => wanted(i).request.target.node -> i))
    val bestOfScans = perScan.values.flatMap(_.sortBy(wanted(_).expectedPassRate).take(maxPerScan)).toSeq
    val best = bestOfScans.sortBy(wanted(_).expectedPassRate).take(MaxPerPlan).toSet
    val (within, tooMany) = wanted.indices.partition(best.contains)
    val ofScans = bestOfScans.toSet
    val limits = tooMany.map(i => wanted(i) -> (if (ofScans.contains(i)) tooManyOnPlan else tooManyOnScan(maxPerScan)))
    val limitOfJoin = limits.map { case (placement, reason) => placement.label.joinId -> reason }.toMap
    val (alone, kept) = within.map(wanted).partition(one => one.request.target.beside.nonEmpty && limitOfJoin.contains(one.label.joinId))
    FiltersPerPlan(kept, limits ++ alone.map(one => one -> limitOfJoin(one.label.joinId)))
  }

  private def tooManyOnScan(limit: Int): Reason =
    Reason(ReasonCode.MaxFiltersPerScan, limit = Some(limit.toDouble), unit = "filters", confKey = AqeConf.FilterMaxPerScan.key)

  private val tooManyOnPlan: Reason = Reason(ReasonCode.MaxFiltersPerPlan, limit = Some(MaxPerPlan.toDouble), unit = "filters")
  private val tooManyOperators: Reason =
    Reason(ReasonCode.MaxFiltersPerPlan, limit = Some(MaxAddedOperators.toDouble), unit = "operators")
}
