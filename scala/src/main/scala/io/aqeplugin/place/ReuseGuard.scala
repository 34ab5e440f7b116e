package io.aqeplugin.place

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.BloomFilterMightContain
import org.apache.spark.sql.execution.{FilterExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.Exchange

import io.aqeplugin.observe.{ByIdentity, JoinId, QueryPlans}

/** Keeps filters out of exchanges that the plan contains more than once, unless all of these copies request equal ones, or each of them one
  * for a union of them all.
  *
  * A scan under such an exchange runs once for all its uses; a filter in one of the uses makes it run once more. The guard checks
  * every exchange and stage of the plan, and the exchanges that dynamic partition pruning will reuse.
  *
  * @param requests
  *   the filters that the joins of the plan request as far as nothing is shared; evaluated when a shared exchange is met
  * @param plans
  *   all plans of the query
  */
final class ReuseGuard(plan: SparkPlan, requests: => Seq[FilterRequest] = Nil, plans: QueryPlans = QueryPlans.None) {
  private val marks = new PlanMarks(plan)
  private val copies = ByIdentity.empty[SparkPlan, Seq[SparkPlan]]

  /** What dynamic pruning of the plan takes its values from. */
  lazy val pruning: PlannedPruning = new PlannedPruning(plan, marks)

  private lazy val ofAllJoins = new SharedRequests(copiesOf, requests)

  /** Whether every exchange above the scan of `request` that Spark runs once for several uses still runs once with a filter of it.
    *
    * @param join
    *   the join that requests it
    */
  def keepsShared(request: FilterRequest, join: JoinId): Boolean = {
    val above = request.target.exchanges
    val isFree = !isBelowShared(request)
    !above.exists(pruning.mayRead) && (isFree || ofAllJoins.isOfAllCopies(request) || ofAllJoins.isOfUnion(request)) &&
    // Of an exchange that several plans share, all of them have the same filter for it, by an equal join.
    above.headOption.filter(plans.mayShare).forall(isFree && plans.useAlike(_, join))
  }

  /** Whether a union may carry the request out. */
  def isOfUnion(request: FilterRequest): Boolean = isBelowShared(request) && ofAllJoins.isOfUnion(request)

  /** Whether a Bloom filter of Spark's own checks rows of the plan. */
  lazy val hasBloomFilters: Boolean = plan.exists {
    case FilterExec(condition, _) => condition.exists(_.isInstanceOf[BloomFilterMightContain])
    case _                        => false
  }

  /** The share of the rows of the request's scan that must pass for other uses of it, by the pass rate of each request; 0 where nothing else
    * uses the scan, or uses it alike.
    */
  def otherUsesPassRate(request: FilterRequest, passRate: FilterRequest => Double): Double =
    if (isBelowShared(request)) ofAllJoins.otherUsesPassRate(request, passRate) else 0.0

  /** How requests that the joins carry out leave all copies of an exchange equal. */
  final class Carried(carriedOut: Seq[FilterRequest]) {
    private lazy val shared = new SharedRequests(copiesOf, carriedOut)

    /** Whether all copies of the exchanges above the request's scan carry out the same; true of a scan that nothing else uses. */
    def isAlike(request: FilterRequest): Boolean = !isBelowShared(request) || shared.isOfAllCopies(request)

    /** The unions of the others; a request that is in none cannot be carried out.
      *
      * @param passRate
      *   the expected pass rate of each request
      */
    def unions(passRate: FilterRequest => Double): Seq[RequestUnion] =
      if (carriedOut.exists(isBelowShared)) shared.unions(passRate) else Nil
  }

  private def isBelowShared(request: FilterRequest): Boolean = request.target.exchanges.exists(isShared)

  /** The same for equal sources of filters on a shared scan. On a scan that is not shared, filters keep their order. */
  def rank(request: FilterRequest): Int =
    if (isBelowShared(request)) ranks.getOrElse(copiesOf(request.source).head, 0) else -1

  private lazy val ranks = ByIdentity.of(plan.collect { case node => node }.zipWithIndex)

  /** The exchanges and stages whose rows Spark takes from the same run as those of `exchange`, each once: of those in a larger exchange that is
    * reused too, only those of its first copy, and none in other copies of the one that holds `exchange`.
    */
  def otherUses(exchange: Exchange): Seq[SparkPlan] = copiesOf(exchange).filterNot(_ eq exchange) match {
    case Nil    => Nil
    case others =>
      val own = holders.get(exchange)
      others.filter { other =>
        holders.get(other).forall { holder =>
          val first = copiesOf(holder).head
          own.fold(first eq holder)(ours => (holder eq ours) || (first eq holder) && !(copiesOf(ours).head eq first))
        }
      }
  }

  /** The exchanges and stages that are in another exchange, each with the innermost one. */
  private lazy val holders: collection.Map[SparkPlan, Exchange] = {
    val found = ByIdentity.empty[SparkPlan, Exchange]
    def note(node: SparkPlan, holder: Option[Exchange]): Unit = node match {
      case exchange: Exchange =>
        holder.foreach(found.update(exchange, _))
        exchange.children.foreach(note(_, Some(exchange)))
      case other =>
        if (other.isInstanceOf[QueryStageExec]) holder.foreach(found.update(other, _))
        other.children.foreach(note(_, holder))
    }
    note(plan, None)
    found
  }

  private def isShared(exchange: Exchange): Boolean = copiesOf(exchange).size > 1

  /** The exchanges and stages of the plan that equal `node`; the same list for each of them. */
  private def copiesOf(node: SparkPlan): Seq[SparkPlan] = copies.getOrElse(
    node, {
      val likely = marks.like(node)
      if (!likely.headOption.forall(copies.contains)) note(likely)
      copies.getOrElseUpdate(node, ofSource(node, likely))
    }
  )

  private def note(likely: Seq[SparkPlan]): Unit = {
    val groups = if (likely.size == 1) Seq(likely) else likely.groupBy(_.canonicalized).values
    groups.foreach(equal => equal.foreach(copies.update(_, equal)))
  }

  private val sourcesInStages = mutable.ArrayBuffer.empty[SparkPlan]

  /** A source may be a stage inside another one, which the plan does not show. */
  private def ofSource(node: SparkPlan, likely: Seq[SparkPlan]): Seq[SparkPlan] =
    (likely ++ sourcesInStages.filter(marks.of(_) == marks.of(node))).find(_.canonicalized == node.canonicalized) match {
      case Some(known) => copiesOf(known)
      case None        =>
        sourcesInStages += node
        Seq(node)
    }
}
