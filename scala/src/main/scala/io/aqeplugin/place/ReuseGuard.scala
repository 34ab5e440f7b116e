package io.aqeplugin.place

import java.util.IdentityHashMap

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions.DynamicPruning
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, Exchange, ReusedExchangeExec}

/** Keeps filters out of exchanges that the plan contains more than once, unless all of these copies request equal ones.
  *
  * A scan under such an exchange runs once for all its uses; a filter in one of the uses would make it run once for each. The guard checks
  * every exchange and stage of the plan, and the exchanges that dynamic partition pruning will reuse.
  *
  * @param requests
  *   the filters that the joins of the plan request as far as nothing is shared; evaluated when a shared exchange is met
  */
final class ReuseGuard(plan: SparkPlan, requests: => Seq[FilterRequest] = Nil) {
  private val marks = new IdentityHashMap[SparkPlan, Int]().asScala
  private val copies = new IdentityHashMap[SparkPlan, Seq[SparkPlan]]().asScala

  // Canonical plans are costly for deep trees, and every re-plan asks, so cheap hashes are compared first.
  private lazy val byMark: Map[Int, Seq[SparkPlan]] =
    plan.collect { case exchange: Exchange => exchange; case stage: QueryStageExec => stage }.groupBy(mark)

  private lazy val hasDynamicPruning: Boolean =
    plan.exists(_.expressions.exists(_.exists { case _: DynamicPruning => true; case _ => false }))

  private lazy val alike = new EqualRequests(copiesOf, requests)

  /** Whether a filter of `request` would make one of the exchanges above its scan run more than once. */
  def refuses(request: FilterRequest): Boolean = {
    val above = request.target.exchanges
    above.exists(mayBePruning) || above.exists(isShared) && !alike.isOfAllCopies(request)
  }

  /** The requests of `carriedOut` that leave all copies of an exchange equal: those below shared exchanges that some copy does not carry
    * out are left out.
    */
  def equalInAllCopies(carriedOut: Seq[FilterRequest]): FilterRequest => Boolean = {
    lazy val carried = new EqualRequests(copiesOf, carriedOut)
    request => !request.target.exchanges.exists(isShared) || carried.isOfAllCopies(request)
  }

  /** The same for equal sources of filters on a shared scan. On a scan that is not shared, filters keep their order. */
  def rank(request: FilterRequest): Int =
    if (request.target.exchanges.exists(isShared)) ranks.getOrElse(copiesOf(request.source).head, 0) else -1

  private lazy val ranks: collection.Map[SparkPlan, Int] = {
    val found = new IdentityHashMap[SparkPlan, Int]().asScala
    plan.foreach(node => found.update(node, found.size))
    found
  }

  private def isShared(exchange: Exchange): Boolean = copiesOf(exchange).size > 1

  /** Dynamic pruning may reuse a broadcast for a subquery, which is not in the plan. */
  private def mayBePruning(exchange: Exchange): Boolean = exchange.isInstanceOf[BroadcastExchangeLike] && hasDynamicPruning

  /** The exchanges and stages of the plan that equal `node`; the same list for each of them. */
  private def copiesOf(node: SparkPlan): Seq[SparkPlan] = copies.getOrElseUpdate(
    node, {
      val likely = byMark.getOrElse(mark(node), Nil)
      if (likely.exists(_ eq node)) {
        val found = if (likely.size == 1) likely else likely.filter(other => (other eq node) || other.canonicalized == node.canonicalized)
        if (found.head eq node) found else copiesOf(found.head)
      } else ofSource(node, likely)
    }
  )

  private val sourcesInStages = mutable.ArrayBuffer.empty[SparkPlan]

  /** A source may be a stage inside another one, which the plan does not show. */
  private def ofSource(node: SparkPlan, likely: Seq[SparkPlan]): Seq[SparkPlan] =
    (likely ++ sourcesInStages.filter(mark(_) == mark(node))).find(_.canonicalized == node.canonicalized) match {
      case Some(known) => copiesOf(known)
      case None        =>
        sourcesInStages += node
        Seq(node)
    }

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
