package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins._

import io.aqeplugin.decide.{JoinKind, Reason, Side, Strategy}

/** A join of a physical plan, on equalities or by the bounds of one column.
  *
  * @param broadcastSide
  *   the side that Spark's plan broadcasts or hashes, if it has chosen one
  * @param range
  *   the bounds; none for a join on equalities. A join may have both, and is then found once for each.
  */
final case class FoundJoin(
    node: BaseJoinExec,
    kind: JoinKind,
    broadcastSide: Option[Side],
    sparkStrategy: Strategy,
    range: Option[JoinRange] = None
) {

  def child(side: Side): SparkPlan = side.of(node.left, node.right)

  /** The keys of one side, in an order that does not depend on how Spark arranged them. */
  def keys(side: Side): Seq[Expression] = range match {
    case Some(known) => known.keys(side)
    case None        => pairs.map(pair => side.of(pair._1, pair._2))
  }

  /** The conditions of the join as SQL. */
  def texts: Seq[String] = range.fold(pairs.map { case (left, right) => s"${left.sql} = ${right.sql}" })(_.texts)

  private lazy val pairs = JoinId.ordered(node.leftKeys, node.rightKeys)

  /** The keys of an equi-join by which its filter is made, or why there are none. */
  def heldKeys(buildSide: Side): Either[Reason, HeldKeys] = buildSide.of(heldOfLeft, heldOfRight)

  private lazy val heldOfLeft = HeldKeys.of(pairs)
  private lazy val heldOfRight = HeldKeys.of(pairs.map(_.swap))

  /** The keys of a build side that its filter holds; all of them if it can hold none. */
  def sourceKeys(buildSide: Side): Seq[Expression] =
    if (range.isDefined) keys(buildSide) else heldKeys(buildSide).fold(_ => keys(buildSide), _.build)

  lazy val id: JoinId = range.fold(JoinId.of(kind, node.leftKeys, node.rightKeys))(_.id(kind))
}

object JoinFinder {

  /** All equi-joins of `plan`, from the top down. Finished stages are not entered. */
  def find(plan: SparkPlan): Seq[FoundJoin] = plan.collect(Function.unlift(of))

  /** `node` as an equi-join, if it is one. */
  def of(node: SparkPlan): Option[FoundJoin] = node match {
    case join: SortMergeJoinExec     => found(join, None, Strategy.PlainSortMerge)
    case join: ShuffledHashJoinExec  => found(join, None, Strategy.PlainSortMerge)
    case join: BroadcastHashJoinExec =>
      found(join, Some(sideOf(join.buildSide)), Strategy.Broadcast)
    case _ => None
  }

  private[aqeplugin] def sideOf(buildSide: BuildSide): Side = buildSide match {
    case BuildLeft  => Side.Left
    case BuildRight => Side.Right
  }

  private def found(join: BaseJoinExec, broadcastSide: Option[Side], strategy: Strategy): Option[FoundJoin] =
    if (join.leftKeys.isEmpty) None
    else kindOf(join.joinType, isNullAware(join)).map(FoundJoin(join, _, broadcastSide, strategy))

  private def isNullAware(join: BaseJoinExec): Boolean = join match {
    case b: BroadcastHashJoinExec => b.isNullAwareAntiJoin
    case _                        => false
  }

  def kindOf(joinType: JoinType, nullAware: Boolean): Option[JoinKind] = joinType match {
    case _ if nullAware   => Some(JoinKind.NullAwareAnti)
    case _: InnerLike     => Some(JoinKind.Inner)
    case LeftOuter        => Some(JoinKind.LeftOuter)
    case RightOuter       => Some(JoinKind.RightOuter)
    case FullOuter        => Some(JoinKind.FullOuter)
    case LeftSemi         => Some(JoinKind.LeftSemi)
    case LeftAnti         => Some(JoinKind.LeftAnti)
    case _: ExistenceJoin => Some(JoinKind.Existence)
    case _                => None
  }
}
