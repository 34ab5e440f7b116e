package io.aqeplugin.place

import java.util.IdentityHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions.DynamicPruning
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, Exchange, ReusedExchangeExec}

/** Keeps filters out of exchanges that the plan has more than once.
  *
  * A scan under such an exchange runs once for all its uses; with a filter of its own in one of them it would run once for each. The guard
  * looks at every exchange and every stage of the plan, and at those that dynamic partition pruning means to reuse.
  */
final class ReuseGuard(plan: SparkPlan) {
  private val marks = new IdentityHashMap[SparkPlan, Int]().asScala
  private val shared = new IdentityHashMap[Exchange, Boolean]().asScala

  // Canonical plans are costly on deep trees and this is asked at every re-plan, so a cheap mark is compared first.
  private lazy val byMark: Map[Int, Seq[SparkPlan]] =
    plan.collect { case exchange: Exchange => exchange; case stage: QueryStageExec => stage }.groupBy(mark)

  private lazy val hasDynamicPruning: Boolean =
    plan.exists(_.expressions.exists(_.exists { case _: DynamicPruning => true; case _ => false }))

  /** Whether a filter below `exchange` would make it differ from another exchange it now equals. */
  def isShared(exchange: Exchange): Boolean =
    shared.getOrElseUpdate(
      exchange,
      exchange match {
        case _: BroadcastExchangeLike if hasDynamicPruning => true
        case _                                             =>
          byMark.getOrElse(mark(exchange), Nil).exists(other => (other ne exchange) && other.canonicalized == exchange.canonicalized)
      }
    )

  /** Equal for equal exchanges, and for an exchange and the stage that was made of it: the sum of the leaves below, whatever stands between. */
  private def mark(node: SparkPlan): Int =
    marks.getOrElseUpdate(
      node,
      node match {
        case stage: QueryStageExec      => mark(stage.plan)
        case reused: ReusedExchangeExec => mark(reused.child)
        // A location's own hash code: every reading of a partitioned table makes a new index, equal to the others.
        case scan: FileSourceScanExec      => scan.relation.location.hashCode
        case leaf if leaf.children.isEmpty => leaf.getClass.hashCode
        case other                         => other.children.map(mark).sum
      }
    )
}
