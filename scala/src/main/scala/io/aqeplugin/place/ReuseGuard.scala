package io.aqeplugin.place

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions.DynamicPruning
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, Exchange, ReusedExchangeExec}

/** Keeps filters out of exchanges that the plan contains more than once.
  *
  * A scan under such an exchange runs once for all its uses; a filter in one of the uses would make it run once for each. The guard checks
  * every exchange and stage of the plan, and the exchanges that dynamic partition pruning will reuse.
  */
final class ReuseGuard(plan: SparkPlan) {
  private val marks = new IdentityHashMap[SparkPlan, Int]()
  private val shared = new IdentityHashMap[Exchange, Boolean]()

  // Canonical plans are costly for deep trees, and every re-plan asks, so cheap hashes are compared first.
  private lazy val byMark: Map[Int, Seq[SparkPlan]] =
    plan.collect { case exchange: Exchange => exchange; case stage: QueryStageExec => stage }.groupBy(mark)

  private lazy val hasDynamicPruning: Boolean =
    plan.exists(_.expressions.exists(_.exists { case _: DynamicPruning => true; case _ => false }))

  /** Whether a filter below `exchange` would make it differ from another exchange that it now equals. */
  def isShared(exchange: Exchange): Boolean =
    if (shared.containsKey(exchange)) {
      shared.get(exchange)
    } else {
      val answer = exchange match {
        case _: BroadcastExchangeLike if hasDynamicPruning => true
        case _                                             =>
          byMark.getOrElse(mark(exchange), Nil).exists(other => (other ne exchange) && other.canonicalized == exchange.canonicalized)
      }
      val _ = shared.put(exchange, answer)
      answer
    }

  /** Equal for equal exchanges, and for an exchange and its stage: the sum of the leaves' hashes, whatever is between them. It uses a
    * file index's own hash code, because every reading of a partitioned table makes a new index that equals the others.
    */
  private def mark(node: SparkPlan): Int =
    if (marks.containsKey(node)) {
      marks.get(node)
    } else {
      val computed = node match {
        case stage: QueryStageExec         => mark(stage.plan)
        case reused: ReusedExchangeExec    => mark(reused.child)
        case scan: FileSourceScanExec      => scan.relation.location.hashCode
        case leaf if leaf.children.isEmpty => leaf.getClass.hashCode
        case other                         => other.children.foldLeft(0)((sum, child) => sum + mark(child))
      }
      val _ = marks.put(node, computed)
      computed
    }
}
