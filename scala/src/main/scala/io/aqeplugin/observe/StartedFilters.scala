package io.aqeplugin.observe

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/** The filters in one place, from the time its rows begin to be read. */
trait StartedFilters {

  /** The joins whose build sides each filter comes from: one, or those of a union. */
  def joinIdsByFilter: Seq[Seq[String]]

  /** The joins whose build sides the filters come from. */
  def joinIds: Seq[String] = joinIdsByFilter.flatten

  /** One outcome per filter; none before the scan has looked for its filters. */
  def outcomes: Seq[FilterOutcome]

  /** Rows that came to the filters, checked or not, and those that are left. */
  def rows: (Long, Long)

  /** Number of faults in the filters, met by tasks. */
  def faults: Long
}

object StartedFilters {

  /** The filters in one place of a plan of Spark's operators, and the plan below them. */
  def unapply(plan: SparkPlan): Option[(StartedFilters, SparkPlan)] = plan match {
    // Its other children are sources of filters.
    case own: StartedFilters => Some((own, own.children.head))
    case other               => LoweredFilters.of(other)
  }

  /** Whether a stage of `plan` that has started has a filter of this join, or of another that has its name and whose stages it may use. */
  def isIn(plan: SparkPlan, joinId: String): Boolean = plan match {
    case StartedFilters(filters, scan) => filters.joinIds.exists(JoinNames.areOfOneName(_, joinId)) || isIn(scan, joinId)
    case stage: QueryStageExec         => isIn(StagePlan.of(stage), joinId)
    case reused: ReusedExchangeExec    => isIn(reused.child, joinId)
    case other                         => other.children.exists(isIn(_, joinId))
  }

  /** An estimate of the share of rows that the filters of other joins left of what a finished plan would have given without them. */
  def kept(plan: SparkPlan): Double = plan match {
    case StartedFilters(filters, scan) =>
      val (read, left) = filters.rows
      (if (read > 0) left.toDouble / read else 1.0) * kept(scan)
    case stage: QueryStageExec      => kept(StagePlan.of(stage))
    case reused: ReusedExchangeExec => kept(reused.child)
    case other                      => other.children.map(kept).product
  }
}
