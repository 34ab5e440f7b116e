package io.aqeplugin.place

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.Exchange

import io.aqeplugin.filters.RangeBounds
import io.aqeplugin.observe.{ByIdentity, JoinKey, Same}

/** Which requests for filters can be carried out in all copies of an exchange, so that the copies stay equal and Spark runs their scans
  * once as before: those that all copies make alike, and those of which each copy makes one, on the same columns of the same scan. The
  * latter become a union in all copies: a row stays if it passes the filter of one of them.
  *
  * @param copiesOf
  *   the exchanges and stages that equal one, with itself; the same list for each of them, and its own for any other node
  */
private[place] final class SharedRequests(copiesOf: SparkPlan => Seq[SparkPlan], requests: Seq[FilterRequest]) {
  import SharedRequests._

  private lazy val usesIn =
    ByIdentity.grouped[SparkPlan, Use](for (request <- requests; exchange <- ownExchange(request))
      yield exchange -> useOf(request, exchange))

  /** Whether all copies of the exchange above the request's scan request the same, and no stage would wait for itself.
    *
    * Copies of an exchange further up contain copies of the first, so the first stands for all.
    */
  def isOfAllCopies(request: FilterRequest): Boolean = ownExchange(request).exists { exchange =>
    val use = useOf(request, exchange)
    inCopies(use.place, exchange).alike(use.filter) && !graph.waitsFor(request.source, exchange)
  }

  /** Whether the request can be carried out in a union. */
  def isOfUnion(request: FilterRequest): Boolean = ownExchange(request).exists { exchange =>
    val use = useOf(request, exchange)
    candidates(use.place, exchange).exists(_.exists(_.filter == use.filter))
  }

  /** The share of the scan's rows that pass because of the other members of the request's union, by the pass rate of each request; 0 without
    * a union.
    */
  def otherUsesPassRate(request: FilterRequest, passRate: FilterRequest => Double): Double =
    if (!isOfUnion(request)) 0.0
    else
      ownExchange(request).fold(0.0) { exchange =>
        val use = useOf(request, exchange)
        val others = copiesOf(exchange).zip(candidates(use.place, exchange)).collect {
          case (copy, uses) if copy ne exchange => chosen(uses, passRate)
        }
        others.distinctBy(_.filter).filterNot(_.filter == use.filter).map(other => passRate(other.request)).sum
      }

  /** One union for each scan and columns on which every copy requests a filter that not all of them do. Of several filters that one copy
    * requests there, the one with the lowest pass rate is in the union. In an order that depends on the plan alone.
    */
  def unions(passRate: FilterRequest => Double): Seq[RequestUnion] =
    for {
      exchange <- requests.flatMap(ownExchange).distinctBy(Same(_))
      if copiesOf(exchange).head eq exchange
      place <- usesIn.getOrElse(exchange, Nil).map(_.place).distinct
      ofCopies = candidates(place, exchange)
      if ofCopies.nonEmpty
    } yield RequestUnion(ofCopies.map(chosen(_, passRate)).distinctBy(_.filter).map(_.request), ofCopies.map(_.head.request.target))

  private def chosen(uses: Seq[Use], passRate: FilterRequest => Double): Use = uses.minBy(use => passRate(use.request))

  private val known = mutable.Map.empty[(Same, Place), Seq[Seq[Use]]]

  /** The requests of each copy that may be in the union on `place`; empty if there is no union, as some copy has none. */
  private def candidates(place: Place, exchange: Exchange): Seq[Seq[Use]] = known.getOrElseUpdate(
    (Same(copiesOf(exchange).head), place), {
      val left = inCopies(place, exchange).different.map(_.filterNot(use => graph.waitsFor(use.request.source, exchange)))
      if (left.exists(_.isEmpty)) Nil else left
    }
  )

  private val requested = mutable.Map.empty[(Same, Place), InCopies]

  private def inCopies(place: Place, exchange: Exchange): InCopies =
    requested.getOrElseUpdate((Same(copiesOf(exchange).head), place), compared(place, exchange))

  private def compared(place: Place, exchange: Exchange): InCopies = {
    val uses = copiesOf(exchange).map {
      case copy: Exchange => usesIn.getOrElse(copy, Nil).filter(_.place == place)
      // A stage runs already, without the filter.
      case _ => Nil
    }
    val alike = uses.map(_.map(_.filter).toSet).reduce(_ intersect _)
    val different = uses.map(_.filterNot(use => alike(use.filter)))
    InCopies(alike, if (different.exists(_.isEmpty)) Nil else different)
  }

  private lazy val graph = new WaitGraph(copiesOf, copy => sourcesIn.getOrElse(copy, Nil))

  /** The sources of all filters that may be placed: of those that are not, because they would wait in a circle, too. */
  private lazy val sourcesIn =
    ByIdentity.of(usesIn.toSeq.map { case (copy, uses) => copy -> uses.filter(mayBePlaced(_, copy)).map(_.request.source) })

  private def mayBePlaced(use: Use, copy: SparkPlan): Boolean = copy match {
    case exchange: Exchange =>
      val there = inCopies(use.place, exchange)
      there.alike(use.filter) || there.different.nonEmpty
    case _ => false
  }

  private def ownExchange(request: FilterRequest): Option[Exchange] = ownExchange(request.target)
  private def ownExchange(target: FilterTarget): Option[Exchange] = target.exchanges.headOption

  private def useOf(request: FilterRequest, exchange: Exchange): Use =
    Use(request, placeOf(request.target, exchange), filterOf(request))

  // Each request is compared with all others, so equal places and equal filters are mostly one object.
  private val places = ByIdentity.empty[SparkPlan, List[(FilterTarget, Place)]]
  private val equalPlaces = mutable.Map.empty[Place, Place]
  private val filters = ByIdentity.empty[SparkPlan, List[(FilterRequest, Filter)]]

  /** Most joins reach a scan by the same keys. */
  private def placeOf(target: FilterTarget, exchange: Exchange): Place = once(places, target.node, target) { other =>
    other.wholeGroups == target.wholeGroups && other.keys == target.keys && ownExchange(other).exists(_ eq exchange)
  } {
    val place = Place(pathTo(target, exchange), JoinKey.numbered(target.keys, target.node.output), target.wholeGroups)
    equalPlaces.getOrElseUpdate(place, place)
  }

  private def filterOf(request: FilterRequest): Filter = once(filters, request.source, request) { other =>
    (other.sourceKeys eq request.sourceKeys) && other.bounds == request.bounds
  }(Filter(Same(copiesOf(request.source).head), JoinKey.numbered(request.sourceKeys, request.source.output), request.bounds))
}

/** Filters of which a row needs to pass one.
  *
  * @param members
  *   the requests, each from the use that makes it
  * @param targets
  *   the scan in each copy of the exchange
  */
private[aqeplugin] final case class RequestUnion(members: Seq[FilterRequest], targets: Seq[FilterTarget])

private[place] object SharedRequests {

  /** Where a filter is in its exchange: equal in equal exchanges.
    *
    * @param path
    *   from the exchange to the scan, by the numbers of the children
    * @param keys
    *   with the numbers of their columns in the scan's output
    * @param wholeGroups
    *   whether the filter must treat all rows with one key alike, as such a filter never pauses
    */
  private final case class Place(path: Seq[Int], keys: Seq[Expression], wholeGroups: Boolean) {
    override val hashCode: Int = (path, keys, wholeGroups).hashCode
  }

  /** What a filter is made of: equal for equal filters.
    *
    * @param source
    *   the first of the exchanges that equal the source
    * @param keys
    *   with the numbers of their columns in the source's output
    */
  private final case class Filter(source: Same, keys: Seq[Expression], bounds: Option[RangeBounds]) {
    override val hashCode: Int = (source, keys, bounds).hashCode
  }

  private final case class Use(request: FilterRequest, place: Place, filter: Filter)

  /** What the copies of an exchange request in one place.
    *
    * @param alike
    *   the filters that all of them request
    * @param different
    *   the other requests of each copy; empty if a copy has none
    */
  private final case class InCopies(alike: Set[Filter], different: Seq[Seq[Use]])

  /** What was made for an equal one of those of a node, which are few; else made now. */
  private def once[K, V](known: mutable.Map[SparkPlan, List[(K, V)]], node: SparkPlan, of: K)(isSame: K => Boolean)(make: => V): V = {
    val ofNode = known.getOrElse(node, Nil)
    ofNode.collectFirst { case (other, value) if isSame(other) => value }.getOrElse {
      val made = make
      known.update(node, (of, made) :: ofNode)
      made
    }
  }

  private def pathTo(target: FilterTarget, from: Exchange): Seq[Int] = {
    val downwards = from +: target.above.takeWhile(_ ne from).reverse :+ target.node
    downwards.lazyZip(downwards.tail).map((parent, child) => parent.children.indexWhere(_ eq child))
  }
}
