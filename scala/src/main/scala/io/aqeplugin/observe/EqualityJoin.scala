package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint, LogicalPlan}

import io.aqeplugin.decide.{JoinKind, Side}

/** A logical join on equalities.
  *
  * @param id
  *   the id of the [[FoundJoin]] that is planned from this join
  */
final class EqualityJoin(join: Join, val kind: JoinKind, val id: JoinId, pairs: Seq[(Expression, Expression)]) {

  /** The conditions of the join as SQL. */
  def texts: Seq[String] = pairs.map { case (left, right) => s"${left.sql} = ${right.sql}" }

  /** The hints of the author and of AQE. */
  def hint: JoinHint = join.hint

  /** One side, with its keys in the order of [[JoinId.ordered]]. */
  def side(side: Side): (LogicalPlan, Seq[Expression]) = side match {
    case Side.Left  => (join.left, pairs.map(_._1))
    case Side.Right => (join.right, pairs.map(_._2))
  }

  /** The keys of a build side that its filter holds; all of them if it can hold none. */
  def sourceKeys(buildSide: Side): Seq[Expression] =
    HeldKeys.of(if (buildSide == Side.Left) pairs else pairs.map(_.swap)).fold(_ => side(buildSide)._2, _.build)
}

object EqualityJoin {

  def of(join: Join): Option[EqualityJoin] = join match {
    case ExtractEquiJoinKeys(joinType, leftKeys, rightKeys, _, _, _, _, _) =>
      JoinFinder.kindOf(joinType, nullAware = false).map { kind =>
        new EqualityJoin(join, kind, JoinId.of(kind, leftKeys, rightKeys), JoinId.ordered(leftKeys, rightKeys))
      }
    case _ => None
  }
}
