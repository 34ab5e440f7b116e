package io.aqeplugin.place

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec

import io.aqeplugin.observe.ByIdentity

/** How many operators the filters of a plan add to it.
  *
  * The source of a filter is the tree of its build side with the filters in that, so along chains of joins the copies multiply. In memory
  * they are one tree until Spark rewrites, compares or logs the plan; each of these walks every copy, and the plans of stages with it.
  *
  * @param plan
  *   without filters
  */
private[aqeplugin] final class PlanGrowth(plan: SparkPlan) {
  import PlanGrowth._

  private lazy val unfiltered = operators(Nil)

  /** The operators that `placements` add to the plan; at most `Long.MaxValue`. */
  def of(placements: Seq[Placement]): Long = if (placements.isEmpty) 0L else operators(placements) - unfiltered

  private def operators(placements: Seq[Placement]): Long = {
    val known = ByIdentity.empty[SparkPlan, Long]
    val sources = ByIdentity.grouped(placements.map(_.request).map(request => request.target.node -> request.source))
    def size(plan: SparkPlan): Long = known.getOrElseUpdate(
      plan, {
        val filters = sources.getOrElse(plan, Nil)
        val below = plan match {
          case stage: QueryStageExec => Seq(stage.plan)
          case other                 => other.children
        }
        (below ++ filters).map(size).foldLeft(1L + filters.size * OwnOperators)(added)
      }
    )
    size(plan)
  }
}

private object PlanGrowth {

  /** A filter's exchange, and the stage that becomes of it. */
  private val OwnOperators = 2L

  private def added(size: Long, to: Long): Long = if (to > Long.MaxValue - size) Long.MaxValue else to + size
}
