package io.aqeplugin.infer

import org.apache.spark.sql.catalyst.expressions._

import io.aqeplugin.observe.RowCheck

/** The form of conditions. */
private[infer] object Conditions {

  def withoutChecks(condition: Expression): Expression = condition.transform { case RowCheck(inner) => inner }

  def conjuncts(condition: Expression): Seq[Expression] = condition match {
    case And(left, right)     => conjuncts(left) ++ conjuncts(right)
    case Not(Or(left, right)) => conjuncts(negated(left)) ++ conjuncts(negated(right))
    case Not(Not(inner))      => conjuncts(inner)
    case other                => Seq(other)
  }

  def disjuncts(condition: Expression): Seq[Expression] = condition match {
    case Or(left, right)       => disjuncts(left) ++ disjuncts(right)
    case Not(And(left, right)) => disjuncts(negated(left)) ++ disjuncts(negated(right))
    case Not(Not(inner))       => disjuncts(inner)
    case other                 => Seq(other)
  }

  private def negated(condition: Expression): Expression = condition match {
    case Not(inner) => inner
    case other      => Not(other)
  }

  /** A condition that is true wherever `condition` is, and has no null in a list of values; none if there is none. A null in a list makes the
    * list true in no further row, but Spark 4.1 fails when it pushes one into an ORC scan.
    */
  def withoutNulls(condition: Expression): Option[Expression] = condition match {
    case _ if !condition.exists(hasNull) => Some(condition)
    case And(left, right)                => allOf(Seq(left, right).flatMap(withoutNulls(_)))
    case Or(left, right)                 => for (a <- withoutNulls(left); b <- withoutNulls(right)) yield Or(a, b)
    case In(value, list)                 => Some(list.filterNot(isNull)).filter(_.nonEmpty).map(In(value, _))
    case InSet(value, values)            => Some(values.filter(Option(_).isDefined)).filter(_.nonEmpty).map(InSet(value, _))
    case _                               => None
  }

  private def hasNull(condition: Expression): Boolean = condition match {
    case In(_, list)      => list.exists(isNull)
    case InSet(_, values) => values.exists(Option(_).isEmpty)
    case _                => false
  }

  private def isNull(value: Expression): Boolean = value match {
    case literal: Literal => Option(literal.value).isEmpty
    case _                => false
  }

  def allOf(conditions: Seq[Expression]): Option[Expression] = conditions.reduceOption(And(_, _))

  /** `conditions` without those that say the same as an earlier one. */
  def distinct(conditions: Seq[Expression]): Seq[Expression] = conditions.distinctBy(_.canonicalized)

  /** One condition that is true where any of `branches` is; each branch is the list of its conjuncts. None if a branch says nothing. */
  def anyOf(branches: Seq[Seq[Expression]]): Option[Expression] = {
    val sets = branches.map(branch => distinct(branch)).distinctBy(_.map(_.canonicalized).toSet)
    // a OR (a AND b) is a.
    val kept = sets.filterNot { branch =>
      val own = branch.map(_.canonicalized).toSet
      sets.exists(other => other.size < branch.size && other.forall(c => own(c.canonicalized)))
    }
    if (kept.isEmpty || kept.exists(_.isEmpty)) None
    else {
      val shared = kept.head.filter(c => kept.tail.forall(_.exists(_.canonicalized == c.canonicalized)))
      val others = kept.map(_.filterNot(c => shared.exists(_.canonicalized == c.canonicalized)))
      if (others.exists(_.isEmpty)) allOf(shared)
      else allOf(shared ++ others.flatMap(allOf).reduceOption(Or(_, _)))
    }
  }
}
