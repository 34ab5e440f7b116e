package io.aqeplugin.observe

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.joins.BaseJoinExec

/** The joins of a query that were decided to have a filter. */
trait DecidedFilters {

  /** The estimated pass rate of the filter of a join, if it was decided to have one. */
  def passRate(joinId: String): Option[Double] = None

  /** The id of a join, if it was judged. */
  def joinId(join: BaseJoinExec): Option[String] = None
}

/** What the filters inside stages keep of their scans, so that no join removes again what its filter has removed. */
private[observe] final class FiltersInside(decided: DecidedFilters) {

  /** The share of a scan's rows that all of its filters keep. */
  def kept(filters: StartedFilters): Double = shares(filters).map(_._2).product

  /** The share of a scan's rows that the filter of each join keeps, alone or in a union. */
  def byJoin(filters: StartedFilters): Map[String, Double] =
    shares(filters).filter(_._2 > 0).flatMap { case (joins, share) => joins.map(_ -> share) }.toMap

  /** The same of all scans in and below a plan, its stages included. */
  def of(plan: SparkPlan): Map[String, Double] = plan match {
    case StartedFilters(filters, scan) => of(scan) ++ byJoin(filters)
    case stage: QueryStageExec         => of(StagePlan.of(stage))
    case reused: ReusedExchangeExec    => of(reused.child)
    case other                         => other.children.map(of).foldLeft(Map.empty[String, Double])(_ ++ _)
  }

  /** The share of rows that the join's own filter keeps, if it is below. A stage that runs once for equal joins has the filter of one. */
  def ofJoin(join: BaseJoinExec, left: SizeEstimate, right: SizeEstimate): Option[Double] = {
    val filters = left.keptByFilters ++ right.keptByFilters
    if (filters.isEmpty) None
    else
      decided.joinId(join).flatMap { id =>
        filters.get(id).orElse(filters.collectFirst { case (other, share) if JoinNames.areOfOneName(id, other) => share })
      }
  }

  /** The share of rows that each filter keeps, with the joins that it comes from. The pass rate of a join in a union is that of the union. */
  private def shares(filters: StartedFilters): Seq[(Seq[String], Double)] = {
    val idle = filters.outcomes.filter(_.passesAll).map(_.joinId).toSet
    filters.joinIdsByFilter.filterNot(_.exists(idle)).map(joins => joins -> joins.map(decided.passRate(_).getOrElse(1.0)).max)
  }
}

private[observe] object FiltersInside {

  /** The share of the rows of `base` that a join with `by` keeps: the share that `by` kept of its table, without what filters have removed
    * from `base` too.
    *
    * @param own
    *   the share of rows that the join's own filter kept
    */
  def keptByJoin(own: Option[Double], base: SizeEstimate, by: SizeEstimate): Double = {
    val onBoth = by.keptByFilters.collect { case (join, share) if base.keptByFilters.contains(join) => share }.product
    math.min(1.0, by.kept / (own.getOrElse(1.0) * onBoth))
  }

  /** The share of the rows of a union that the filter of each join keeps, which not all parts need have. */
  def ofUnion(parts: Seq[SizeEstimate]): Map[String, Double] = {
    val rows = parts.map(_.rows).sum
    parts.flatMap(_.keptByFilters.keys).distinct.map { join =>
      join -> rows / parts.map(part => part.rows / part.keptByFilters.getOrElse(join, 1.0)).sum
    }.toMap
  }
}
