package io.aqeplugin.place

import java.util.IdentityHashMap

import scala.jdk.CollectionConverters._

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
  private val marks = new IdentityHashMap[SparkPlan, Int]().asScala
  private val shared = new IdentityHashMap[Exchange, Boolean]().asScala

  // Canonical plans are costly for deep trees, and every re-plan asks, so cheap hashes are compared first.
  private lazy val byMark: Map[Int, Seq[SparkPlan]] =
    plan.collect { case exchange: Exchange => exchange; case stage: QueryStageExec => stage }.groupBy(mark)

  private lazy val hasDynamicPruning: Boolean =
    plan.exists(_.expressions.exists(_.exists { case _: DynamicPruning => true; case _ => false }))

  /** Whether a filter below `exchange` would make it differ from another exchange that it now equals. */
  def isShared(exchange: Exchange): Boolean =
    shared.getOrElseUpdate(
      exchange,
      exchange match {
        case _: BroadcastExchangeLike if hasDynamicPruning => true
        case _                                             =>
          byMark.getOrElse(mark(exchange), Nil).exists(other => (other ne exchange) && other.canonicalized == exchange.canonicalized)
      }
    )

  /** Equal for equal exchanges, and for an exchange and its stage: the sum of the leaves' hashes, whatever is between them. It uses a
    * file index's own hash code, because every reading of a partitioned table makes a new index that equals the others.
    */
  private def mark(node: SparkPlan): Int =
    marks.getOrElseUpdate(
      node,
      node match {
        case stage: QueryStageExec         => mark(stage.plan)
        case reused: ReusedExchangeExec    => mark(reused.child)
        case scan: FileSourceScanExec      => scan.relation.location.hashCode
        case leaf if leaf.children.isEmpty => leaf.getClass.hashCode
        case other                         => other.children.map(mark).sum
      }
    )
}
