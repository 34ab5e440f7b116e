package io.aqeplugin.place

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanLike
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, Exchange}

import io.aqeplugin.decide.Reason
import io.aqeplugin.exec._
import io.aqeplugin.observe.{ByIdentity, JoinKey, LoweredFilters, QueryState, TableStatistics}
import io.aqeplugin.storage.{NumberedRows, ScanAdapter}

/** One filter to place on one target.
  *
  * @param expectedPassRate
  *   share of the target's rows that are expected to pass it, or the union that it is in
  * @param union
  *   the number of that union in its plan; the placements of a union on one scan come one after the other
  * @param isOfSeveralPlans
  *   several plans of the query run the scan once. AQE may take another one from before the filter was built, so nothing of the filter goes
  *   into the scan, which stays equal
  */
final case class Placement(
    request: FilterRequest,
    label: FilterLabel,
    expectedPassRate: Double,
    union: Option[Int] = None,
    isOfSeveralPlans: Boolean = false
) {
  def leavingOut(files: LeftOut.Told): Placement = copy(label = label.copy()(files))
}

/** A build side whose keys are to be sketched while it runs.
  *
  * @param exchange
  *   the build side's exchange as it is in the plan
  * @param keys
  *   the keys over its columns
  */
final case class SketchedBuild(exchange: Exchange, keys: Seq[Expression])

/** Places filters and key sketches in a plan, in one pass from the bottom up.
  *
  * Each node is rewritten once and cached by identity: the build exchange below a filter must be the same tree as in the join, including
  * the filters inside it. Otherwise the build side would run twice.
  *
  * An exchange that starts with this plan stands in it once: AQE waits for each copy of one, and of an error that comes from two copies it
  * makes another error. So a filter that waits for such an exchange has a clock in its place that ends at once. In the plan that AQE makes
  * then, the exchange is a stage that runs, which the filter shares.
  *
  * @param clockNanos
  *   when to check the waits of the plan, as `System.nanoTime`; none if there is none to check
  * @param engine
  *   how an engine that carries the plan out gets filters; none if Spark does
  * @param heldUntil
  *   the moment, as `System.nanoTime`, until which a join's filter whose source has these columns, and these exchanges that start, is held
  *   back; none if it is not. Not for ever: AQE may have found their stages without the plan showing it
  */
final class PlaceFilters(
    placements: Seq[Placement],
    sketched: Seq[SketchedBuild],
    limits: BuildLimits,
    pause: SelfDisable,
    tables: TableStatistics,
    clockNanos: Option[Long] = None,
    engine: Option[EngineForm] = None,
    heldUntil: QueryState.Hold => Option[Long] = _ => None
) {
  private val builtFilters = new BuildRecord.Reading
  private val nowNanos = System.nanoTime()
  private val rewritten = ByIdentity.empty[SparkPlan, SparkPlan]

  private val ofNode = ByIdentity.grouped(placements.map(placement => placement.request.target.node -> placement))

  private val ofExchange = ByIdentity.of[SparkPlan, SketchedBuild](sketched.map(build => build.exchange -> build))

  def apply(plan: SparkPlan): SparkPlan = rewritten.getOrElseUpdate(plan, rewrite(plan))

  private def rewrite(plan: SparkPlan): SparkPlan = {
    val inner =
      if (plan.isInstanceOf[LeafExecNode] || plan.isInstanceOf[QueryStageExec]) plan
      else {
        val children = plan.children.map(apply)
        if (children.lazyZip(plan.children).forall(_ eq _)) plan else plan.withNewChildren(children)
      }
    ofExchange.get(plan).map(build => withSketch(inner, build.keys)).orElse(ofNode.get(plan).map(filtered(inner, _))).getOrElse(inner)
  }

  private def withSketch(exchange: SparkPlan, keys: Seq[Expression]): SparkPlan = {
    val most = if (exchange.isInstanceOf[BroadcastExchangeLike]) PlaceFilters.BroadcastKeys else Int.MaxValue
    exchange.withNewChildren(exchange.children.map(KeySketchExec(keys, math.min(most, limits.sketchedKeys), _)))
  }

  private def filtered(node: SparkPlan, here: Seq[Placement]): SparkPlan = node match {
    // AQE makes a stage of it before anything above it starts. It would then take all that is below the scan's logical node for that
    // node's, the sources of filters too, so these come with the next plan.
    case cache: InMemoryTableScanLike => cache
    case _                            => withFilters(node, here)
  }

  private def withFilters(node: SparkPlan, here: Seq[Placement]): SparkPlan = {
    val filters = PlaceFilters.filters(here)
    val scans = filters.scanLeft(node) { (scan, filter) =>
      known(filter)
        .fold(scan)(ScanAdapter.withKnownKeys(scan, filter.head.request.target.keys, _, tables, limits.inListMaxKeys))
    }
    val read = scans.map(NumberedRows.readBy)
    val told = filters.lazyZip(read).lazyZip(read.drop(1)).map { (filter, before, after) =>
      // What is counted for a union is counted for its first filter.
      val why =
        if (before eq after) known(filter).flatMap(ScanAdapter.whyNothing(before, filter.head.request.target.keys, _)) else None
      filter.head.leavingOut(LeftOut.between(before, after, read.last, why)) +: filter.tail
    }
    engine.fold(waiting(scans.last, told))(_.placed(scans.last, told.map(_.map(one => one -> result(one))), clockNanos))
  }

  private def result(placement: Placement): Option[Either[Reason, FilterSummary]] = {
    val request = placement.request
    builtFilters.get(request.source, request.sourceKeys, request.bounds).map(_.result).orElse {
      // An exchange with filters in it is equal to others with other filters until these are in the plan.
      if (request.source.exists(ofNode.contains)) None else engine.flatMap(_.builtElsewhere(request))
    }
  }

  private def waiting(pruned: SparkPlan, filters: Seq[Seq[Placement]]): SparkPlan = {
    val here = filters.flatten
    val requests = here.map(_.request)
    val found = here.map(p => PlaceFilters.exchange(p, heldBack(p.label.joinId, sourceOf(p.request)), limits))
    val sources = if (limits.forEngine) found.map(PlaceFilters.gate(_, nowNanos)) else found
    val clock = if (requests.exists(r => !PlaceFilters.isFinished(r.source))) clockNanos.map(PlaceFilters.clock) else None
    val unions = if (filters.size == here.size) Nil else filters.map(_.size)
    val pauses = requests.map(request => if (request.target.checksAll) SelfDisable.Never else pause)
    RuntimeFilterExec(pruned, requests.map(_.target.keys), sources, here.map(_.label), pauses, clock, unions)
  }

  /** The build side with its filters. A stage that has started is read as it is, also where another join's filter is to be put on its rows.
    */
  private def sourceOf(request: FilterRequest): SparkPlan = request.source match {
    case stage: QueryStageExec => stage
    case exchange              => apply(exchange)
  }

  private def heldBack(joinId: String, source: SparkPlan): SparkPlan = {
    val now = starting(source).map(_.canonicalized).toSet
    val hold = QueryState.Hold(joinId, source.output.map(_.exprId), now)
    // A join may have several filters in one plan.
    val until = if (now.isEmpty) None else held.getOrElseUpdate(hold, heldUntil(hold))
    until.fold(source)(moment => PlaceFilters.linked(WaitClockExec.inPlaceOf(source, moment), Nil))
  }

  private val held = mutable.Map.empty[QueryState.Hold, Option[Long]]

  /** The exchanges of Spark in a rewritten tree that AQE starts as soon as it has the plan: nothing below them is to be waited for. */
  private def starting(plan: SparkPlan): Seq[Exchange] = plan match {
    case own @ (_: RuntimeFilterExchangeExec | _: WaitClockExec) => own.children.flatMap(starting)
    case exchange: Exchange                                      => if (isReady(exchange.child)) Seq(exchange) else starting(exchange.child)
    case other                                                   => other.children.flatMap(starting)
  }

  private def isReady(plan: SparkPlan): Boolean = plan match {
    case stage: QueryStageExec                                 => stage.isMaterialized
    case RuntimeFilterExchangeExec(keys, source, _, _, bounds) => builtFilters.get(source, keys, bounds).isDefined
    case _: Exchange | _: InMemoryTableScanLike                => false
    case other                                                 => other.children.forall(isReady)
  }

  /** What the reader of a scan is told of the keys that pass one filter, or one of several; none unless all are built. Where groups must
    * stay whole, the reader may leave out only rows that the filter drops too.
    */
  private def known(filter: Seq[Placement]): Option[FilterSummary] = if (filter.exists(_.isOfSeveralPlans)) None
  else {
    val built = filter.map { one =>
      val summary = result(one).flatMap(_.toOption)
      if (one.request.target.wholeGroups) summary.map(_.ofFilterAlone) else summary
    }
    if (built.forall(_.isDefined)) built.flatten.reduceOption(FilterSummary.either) else None
  }
}

object PlaceFilters {

  /** Keys that a task of a broadcast keeps at most. They come to the driver with its rows, whose bytes Spark limits; so few are a small
    * part of a result that counts, which is one over a megabyte.
    */
  private val BroadcastKeys = 16384

  /** The placements in one place by the filter that they make together: each its own, or that of its union. */
  private def filters(here: Seq[Placement]): Seq[Seq[Placement]] =
    here.indices.groupBy(i => here(i).union.fold[Either[Int, Int]](Left(i))(Right(_))).values.toSeq.sortBy(_.head).map(_.map(here))

  /** The plan without its filters and sketches. */
  def strip(plan: SparkPlan): SparkPlan =
    if (plan.exists(node => node.isInstanceOf[RuntimeFilterExec] || node.isInstanceOf[KeySketchExec] || conditionOver(node).isDefined))
      stripped(plan)
    else plan

  /** The plan below a condition of the plugin's. */
  private def conditionOver(plan: SparkPlan): Option[SparkPlan] = LoweredFilters.below(plan).orElse(EnginePlaces.below(plan))

  private def stripped(plan: SparkPlan): SparkPlan = plan match {
    case filter: RuntimeFilterExec     => stripped(filter.child)
    case sketch: KeySketchExec         => stripped(sketch.child)
    case leaf if leaf.children.isEmpty => leaf
    case other                         => conditionOver(other).fold(other.withNewChildren(other.children.map(stripped)))(stripped)
  }

  private def exchange(placement: Placement, build: SparkPlan, limits: BuildLimits): SparkPlan = {
    val FilterRequest(_, keys, bounds, _) = placement.request
    linked(RuntimeFilterExchangeExec(keys, build, limits, placement.label.joinId, bounds), keys.map(JoinKey.columnOf))
  }

  /** A stage that ends after that of a filter, whereupon AQE plans again: where an engine runs the scan, the filter is put into the plan
    * before that starts.
    */
  private def gate(filter: SparkPlan, nowNanos: Long): SparkPlan = linked(WaitClockExec(nowNanos, filter), Nil)

  private def clock(atNanos: Long): SparkPlan = linked(WaitClockExec(atNanos), Nil)

  /** Gives a node a link to a node outside every query. AQE asks every stage for its link; if it inherited the build side's link, AQE would
    * replace the build side's logical node. The link is set as a tag because setLogicalLink would also tag the build exchange below.
    */
  private def linked(exchange: SparkPlan, columns: Seq[Attribute]): SparkPlan = {
    exchange.setTagValue(SparkPlan.LOGICAL_PLAN_TAG, FilterLink(columns))
    exchange
  }

  private def isFinished(source: SparkPlan): Boolean = source match {
    case stage: QueryStageExec => stage.isMaterialized
    case _                     => false
  }
}
