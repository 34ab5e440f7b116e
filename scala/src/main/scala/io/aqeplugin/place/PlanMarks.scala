package io.aqeplugin.place

import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}

import io.aqeplugin.exec.RuntimeFilterExec
import io.aqeplugin.observe.{ByIdentity, StagePlan}

/** Hashes of plans by which the equal exchanges and stages of a plan are found. Canonical plans are costly for deep trees, and every re-plan
  * asks, so these are compared first.
  */
private[place] final class PlanMarks(plan: SparkPlan) {
  private val known = ByIdentity.empty[SparkPlan, Int]

  private lazy val byMark: Map[Int, Seq[SparkPlan]] =
    plan.collect { case exchange: Exchange => exchange; case stage: QueryStageExec => stage }.groupBy(of)

  /** The exchanges and stages of the plan that may equal `node`. */
  def like(node: SparkPlan): Seq[SparkPlan] = byMark.getOrElse(of(node), Nil)

  /** Equal for equal exchanges, and for an exchange and its stage: the sum of the leaves' hashes, whatever is between them. It uses a
    * file index's own hash code, because every reading of a partitioned table makes a new index that equals the others.
    */
  def of(node: SparkPlan): Int =
    known.getOrElseUpdate(
      node,
      node match {
        case stage: QueryStageExec         => of(StagePlan.of(stage))
        case reused: ReusedExchangeExec    => of(reused.child)
        case filtered: RuntimeFilterExec   => of(filtered.child)
        case own: AdaptiveSparkPlanExec    => of(own.executedPlan)
        case scan: FileSourceScanExec      => scan.relation.location.hashCode
        case leaf if leaf.children.isEmpty => leaf.getClass.hashCode
        case other                         => other.children.map(of).sum
      }
    )
}
