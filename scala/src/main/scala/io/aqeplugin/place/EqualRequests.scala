package io.aqeplugin.place

import java.util.IdentityHashMap

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.Exchange

import io.aqeplugin.filters.RangeBounds

/** Which requests for filters are equal in all copies of an exchange. If all copies carry them out, the copies stay equal, and Spark runs
  * their scans once as before.
  *
  * @param copiesOf
  *   the exchanges and stages that equal one, with itself; the same list for each of them, and its own for any other node
  */
private[place] final class EqualRequests(copiesOf: SparkPlan => Seq[SparkPlan], requests: Seq[FilterRequest]) {
  import EqualRequests._

  private lazy val rolesIn: collection.Map[SparkPlan, Set[Role]] = {
    val found = new IdentityHashMap[SparkPlan, Set[Role]]().asScala
    for (request <- requests; exchange <- ownExchange(request))
      found.update(exchange, found.getOrElse(exchange, Set.empty) + role(request, exchange))
    found
  }

  /** Whether all copies of the exchange above the request's scan request the same, and no stage would wait for itself.
    *
    * Copies of an exchange further up contain copies of the first, so the first stands for all.
    */
  def isOfAllCopies(request: FilterRequest): Boolean =
    ownExchange(request).exists(exchange => isAlike(request, exchange) && !waitsFor(request.source, exchange))

  private def isAlike(request: FilterRequest, exchange: Exchange): Boolean = {
    val wanted = role(request, exchange)
    // A stage runs already, without the filter.
    copiesOf(exchange).forall(copy => copy.isInstanceOf[Exchange] && rolesIn.get(copy).exists(_.contains(wanted)))
  }

  private def ownExchange(request: FilterRequest): Option[Exchange] = request.target.exchanges.headOption

  private def role(request: FilterRequest, exchange: Exchange): Role = Role(
    pathTo(request.target.scan, exchange).getOrElse(Nil),
    positions(request.target.keys, request.target.scan),
    Same(copiesOf(request.source).head),
    positions(request.sourceKeys, request.source),
    request.bounds
  )

  /** Whether `source` runs only after `exchange`, or a copy of it. In one tree, filters that go down cannot wait in a circle; but a stage
    * waits for what the filters of all its copies wait for.
    */
  private def waitsFor(source: SparkPlan, exchange: Exchange): Boolean = {
    val goal = copiesOf(exchange).head

    @tailrec
    def isReached(from: List[SparkPlan], seen: Set[Same]): Boolean = from match {
      case Nil                              => false
      case next :: _ if next eq goal        => true
      case next :: rest if seen(Same(next)) => isReached(rest, seen)
      case next :: rest                     => isReached(neededBy(next).map(copiesOf(_).head).toList ::: rest, seen + Same(next))
    }

    isReached(List(copiesOf(source).head), Set.empty)
  }

  /** The exchanges inside any copy of `node`, and the sources of the filters that its scans may get. */
  private def neededBy(node: SparkPlan): Seq[SparkPlan] = copiesOf(node).flatMap { copy =>
    copy.children.flatMap(_.collect { case exchange: Exchange => exchange }) ++ sourcesIn.getOrElse(copy, Nil)
  }

  private lazy val sourcesIn: collection.Map[SparkPlan, Seq[SparkPlan]] = {
    val found = new IdentityHashMap[SparkPlan, Seq[SparkPlan]]().asScala
    for (request <- requests; exchange <- ownExchange(request); if isAlike(request, exchange))
      found.update(exchange, request.source +: found.getOrElse(exchange, Nil))
    found
  }
}

private[place] object EqualRequests {

  /** What a filter is in its exchange: equal for the same filter in an equal exchange.
    *
    * @param path
    *   from the exchange to the scan, by the numbers of the children
    * @param columns
    *   positions of the keys in the scan's output
    * @param source
    *   the first of the exchanges that equal the source
    * @param sourceColumns
    *   positions of the keys in the source's output
    */
  private final case class Role(path: Seq[Int], columns: Seq[Int], source: Same, sourceColumns: Seq[Int], bounds: Option[RangeBounds])

  /** A node, compared by identity: comparing plans walks all of them. */
  private final class Same(private val node: SparkPlan) {
    override def equals(other: Any): Boolean = other match {
      case same: Same => same.node eq node
      case _          => false
    }
    override def hashCode: Int = System.identityHashCode(node)
  }

  private object Same {
    def apply(node: SparkPlan): Same = new Same(node)
  }

  private def positions(keys: Seq[Attribute], plan: SparkPlan): Seq[Int] = keys.map(key => plan.output.indexWhere(_.exprId == key.exprId))

  private def pathTo(scan: SparkPlan, from: SparkPlan): Option[List[Int]] =
    if (from eq scan) Some(Nil)
    else
      from.children.iterator.zipWithIndex.flatMap { case (child, i) => pathTo(scan, child).map(i :: _) }.nextOption()
}
