package io.aqeplugin.place

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions.DynamicPruning
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, Exchange}

/** Keeps filters out of exchanges that the plan has more than once.
  *
  * A scan under such an exchange runs once for all its uses; with a filter of its own in one of them it would run once for each. The guard
  * looks at every exchange of the plan, and at those that dynamic partition pruning means to reuse.
  */
final class ReuseGuard(plan: SparkPlan) {
  private lazy val exchanges: Seq[Exchange] = plan.collect { case e: Exchange => e }

  private lazy val stages: Seq[QueryStageExec] = plan.collect { case s: QueryStageExec => s }

  // Canonical plans are costly on deep trees and this is asked at every re-plan, so a cheap mark is compared first.
  private lazy val byMark: Map[Int, Seq[Exchange]] = exchanges.groupBy(mark)

  private lazy val hasDynamicPruning: Boolean =
    plan.exists(_.expressions.exists(_.exists { case _: DynamicPruning => true; case _ => false }))

  private val marks = new IdentityHashMap[SparkPlan, Int]()

  /** Whether a filter below `exchange` would make it differ from another exchange it now equals. */
  def isShared(exchange: Exchange): Boolean = exchange match {
    case _: BroadcastExchangeLike if hasDynamicPruning => true
    case _                                             =>
      byMark.getOrElse(mark(exchange), Nil).exists(other => (other ne exchange) && other.canonicalized == exchange.canonicalized) ||
      stages.exists(stage => stage.canonicalized == exchange.canonicalized)
  }

  /** Equal for equal exchanges: what kind of node each leaf below is, which relation it reads and how many nodes lie above it. */
  private def mark(node: SparkPlan): Int = {
    val known = marks.get(node)
    if (known != 0) {
      known
    } else {
      val own = node match {
        case scan: FileSourceScanExec => System.identityHashCode(scan.relation.location) * 31 + scan.output.size
        case other                    => other.getClass.hashCode
      }
      val computed = node.children.foldLeft(own)((sum, child) => sum * 31 + mark(child)) | 1
      val _ = marks.put(node, computed)
      computed
    }
  }
}
