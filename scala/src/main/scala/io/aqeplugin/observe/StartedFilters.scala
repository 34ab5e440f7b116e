package io.aqeplugin.observe

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

import io.aqeplugin.decide.RowsLeft

/** The filters in one place, from the time its rows begin to be read. */
trait StartedFilters {

  /** The joins whose build sides each filter comes from: one, or those of a union. */
  def joinIdsByFilter: Seq[Seq[String]]

  /** The joins whose build sides the filters come from. */
  def joinIds: Seq[String] = joinIdsByFilter.flatten

  /** One outcome per filter; none before the scan has looked for its filters. */
  def outcomes: Seq[FilterOutcome]

  /** Number of faults in the filters, met by tasks. */
  def faults: Long
}

object StartedFilters {

  /** The share of rows that filters of joins above `plan` left of its scan that lost most; 1 without any. Filters of its own joins leave no
    * fewer of its rows.
    */
  def shareLeft(plan: SparkPlan, nameOf: FoundJoin => Option[String]): Double = {
    val own = joinsIn(plan).flatMap(nameOf).toSet
    val shares = in(plan).map(filters => RowsLeft.share(FilterOutcome.passed(filters.outcomes.filterNot(one => own(one.joinId)))))
    shares.minOption.getOrElse(1.0)
  }

  private def in(plan: SparkPlan): Seq[StartedFilters] =
    Some(plan).collect { case filters: StartedFilters => filters }.toSeq ++ inputs(plan).flatMap(in)

  private def joinsIn(plan: SparkPlan): Seq[FoundJoin] = JoinFinder.of(plan).toSeq ++ inputs(plan).flatMap(joinsIn)

  /** What a plan reads, of stages and of reused exchanges too. */
  private def inputs(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case _: StartedFilters          => plan.children.take(1)
    case stage: QueryStageExec      => Seq(stage.plan)
    case reused: ReusedExchangeExec => Seq(reused.child)
    case other                      => other.children
  }

  /** Whether a stage of `plan` that has started has a filter of this join, or of another that has its name and whose stages it may use. */
  def isIn(plan: SparkPlan, joinId: String): Boolean = in(plan).exists(_.joinIds.exists(JoinNames.areOfOneName(_, joinId)))
}
