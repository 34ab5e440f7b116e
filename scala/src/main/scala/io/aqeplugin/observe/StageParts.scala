package io.aqeplugin.observe

import java.util.IdentityHashMap

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, Exchange, ReusedExchangeExec}
import org.apache.spark.sql.execution.joins.BaseJoinExec

import io.aqeplugin.decide.Side
import io.aqeplugin.exec.RuntimeFilterExec

/** A part of a final plan that the tasks of one stage run: what lies between exchanges.
  *
  * @param shuffleId
  *   the shuffle that it writes, if it writes one
  * @param metrics
  *   accumulators of its nodes' metrics; those of exchanges, which two stages add to, are left out
  * @param scanMillis
  *   run time of its scans, as they measure it themselves
  * @param joins
  *   ids of the joins in it
  * @param otherWork
  *   it has nodes, scans that do not measure themselves included, whose work is in no join's price
  * @param isEmpty
  *   it had no partition, so no stage ran
  */
final case class StagePart(
    shuffleId: Option[Int],
    metrics: Set[Long],
    scanMillis: Long,
    joins: Seq[String],
    otherWork: Boolean,
    isEmpty: Boolean
)

/** Where a join of the final plan runs.
  *
  * @param part
  *   the part it stands in
  * @param probe
  *   the parts that its probe side's rows come through, from their scans on
  * @param broadcast
  *   the exchange of a broadcast join's build side
  */
final case class JoinPlace(join: FoundJoin, part: Int, probe: Set[Int], broadcast: Option[SparkPlan])

/** The parts of the plan of a query that has ended, subqueries included. A stage that is used twice is one part.
  *
  * @param buildSideOf
  *   the side that a join was built from, as it was decided
  */
final class StageParts(plan: SparkPlan, buildSideOf: String => Option[Side]) {
  private val making = ArrayBuffer.empty[StageParts.Making]
  private val partOf = new IdentityHashMap[SparkPlan, Int]()
  private val found = ArrayBuffer.empty[(FoundJoin, Int)]

  visit(plan, begin(None))

  val parts: IndexedSeq[StagePart] = making.toIndexedSeq.map(_.part)

  val joins: Seq[JoinPlace] = found.toSeq.map { case (join, part) =>
    val build = buildSideOf(join.id).orElse(join.broadcastSide)
    val sides = build.fold(Seq[Side](Side.Left, Side.Right))(side => Seq(side.other))
    JoinPlace(
      join,
      part,
      sides.flatMap(side => comesThrough(join.child(side), part)).toSet,
      join.broadcastSide.flatMap(s => StageParts.broadcastOf(join.child(s)))
    )
  }

  private def begin(shuffleId: Option[Int], isEmpty: Boolean = false): Int = {
    making += new StageParts.Making(shuffleId, isEmpty)
    making.size - 1
  }

  private def visit(node: SparkPlan, part: Int): Unit = {
    node match {
      case adaptive: AdaptiveSparkPlanExec => visit(adaptive.executedPlan, part)
      case stage: ShuffleQueryStageExec    =>
        val ran = stage.isMaterialized
        val isEmpty = ran && stage.mapStats.isEmpty
        enter(stage.shuffle, begin(if (ran && !isEmpty) Some(stage.shuffle.shuffleId) else None, isEmpty))
      case stage: BroadcastQueryStageExec => enter(stage.broadcast, begin(None))
      case stage: QueryStageExec          => visit(stage.plan, part)
      case reused: ReusedExchangeExec     => visit(reused.child, part)
      case exchange: Exchange             => enter(exchange, begin(None))
      case filter: RuntimeFilterExec      =>
        making(part).add(filter, None)
        visit(filter.child, part)
      case other =>
        val join = JoinFinder.of(other)
        making(part).add(other, join)
        join.foreach(found += _ -> part)
        other.children.foreach(visit(_, part))
    }
    node.subqueries.foreach(subquery => if (!partOf.containsKey(subquery)) enter(subquery, begin(None)))
  }

  /** What a node whose rows leave their stage is made of, once. */
  private def enter(top: SparkPlan, part: => Int): Unit = if (!partOf.containsKey(top)) {
    val begun = part
    val _ = partOf.put(top, begun)
    top.children.foreach(visit(_, begun))
  }

  /** The parts from the scans below `node`, which is in `part`, up to it. */
  private def comesThrough(node: SparkPlan, part: Int): Set[Int] = node match {
    case adaptive: AdaptiveSparkPlanExec => comesThrough(adaptive.executedPlan, part)
    case stage: ShuffleQueryStageExec    => below(stage.shuffle)
    case _: BroadcastQueryStageExec      => Set.empty
    case stage: QueryStageExec           => comesThrough(stage.plan, part)
    case reused: ReusedExchangeExec      => comesThrough(reused.child, part)
    case _: BroadcastExchangeLike        => Set.empty
    case exchange: Exchange              => below(exchange)
    case filter: RuntimeFilterExec       => comesThrough(filter.child, part)
    case join: BaseJoinExec              =>
      val build = JoinFinder.of(join).flatMap(known => known.broadcastSide.orElse(buildSideOf(known.id)))
      val sides = build.fold(join.children)(side => Seq(if (side == Side.Left) join.right else join.left))
      sides.flatMap(comesThrough(_, part)).toSet
    case leaf if leaf.children.isEmpty => Set(part)
    case other                         => other.children.flatMap(comesThrough(_, part)).toSet
  }

  private def below(exchange: SparkPlan): Set[Int] =
    if (partOf.containsKey(exchange)) {
      val part = partOf.get(exchange)
      exchange.children.flatMap(comesThrough(_, part)).toSet + part
    } else Set.empty
}

object StageParts {

  /** The broadcast that `node` is, or stands for. */
  def broadcastOf(node: SparkPlan): Option[SparkPlan] = node match {
    case stage: BroadcastQueryStageExec  => Some(stage.broadcast)
    case reused: ReusedExchangeExec      => broadcastOf(reused.child)
    case exchange: BroadcastExchangeLike => Some(exchange)
    case wrapper: InputAdapter           => broadcastOf(wrapper.child)
    case _                               => None
  }

  private val ScanTime = "scanTime"

  private final class Making(shuffleId: Option[Int], isEmpty: Boolean) {
    private val nodes = ArrayBuffer.empty[SparkPlan]
    private val joins = ArrayBuffer.empty[String]

    def add(node: SparkPlan, join: Option[FoundJoin]): Unit = {
      nodes += node
      join.foreach(joins += _.id)
    }

    def part: StagePart = StagePart(
      shuffleId,
      nodes.iterator.flatMap(_.metrics.valuesIterator.map(_.id)).toSet,
      nodes.iterator.collect { case scan: FileSourceScanExec => scan.metrics.get(ScanTime).fold(0L)(_.value) }.sum,
      joins.toSeq,
      nodes.exists(!isPriced(_)),
      isEmpty
    )
  }

  private def isPriced(node: SparkPlan): Boolean = node match {
    case _: ProjectExec | _: FilterExec | _: ColumnarToRowExec | _: SortExec | _: UnionExec => true
    case _: WholeStageCodegenExec | _: InputAdapter | _: AQEShuffleReadExec                 => true
    case _: RuntimeFilterExec                                                               => true
    case scan: FileSourceScanExec                                                           => scan.metrics.contains(ScanTime)
    case other                                                                              => JoinFinder.of(other).isDefined
  }
}
