package io.aqeplugin.infer

import org.apache.spark.sql.catalyst.expressions._

import io.aqeplugin.observe.Same

/** Conditions that are all true in every row that counts: what a join's inputs contribute to its output.
  *
  * @param seen
  *   the conditions that were added, usable or not
  * @param ambiguous
  *   columns that stand for different values in different parts of the plan; a condition with one of them is not used
  */
private[infer] final class Knowledge private (
    val facts: Vector[Expression],
    seen: Set[Same],
    ambiguous: Set[ExprId],
    equalBefore: => EqualColumns,
    fresh: Seq[Expression]
) {
  lazy val equal: EqualColumns = equalBefore.plus(fresh)
  lazy val ordered: Ordered = new Ordered(facts)

  /** The values that each ordered column has in a row that counts; empty if the facts contradict each other. */
  lazy val intervals: Map[ExprId, Interval] = ordered.intervals(facts).getOrElse(Map.empty)

  /** Whether each branch of an OR is solved together with all facts, whose own branches are solved each time. */
  lazy val solvesBranches: Boolean =
    facts.map(Conditions.disjuncts(_)).filter(_.exists(Knowledge.hasComparedColumns)).map(_.size).filter(_ > 1).sum <= Knowledge.MaxBranches

  /** Whether some of [[intervals]] may be new to Spark, which itself carries constants across equalities. */
  lazy val hasInequalities: Boolean = facts.exists(Knowledge.comparesColumns)

  def plus(conjuncts: Seq[Expression]): Knowledge = {
    // Every join of a plan is asked for the same conditions; telling equal ones apart from others by their content costs more.
    val added = conjuncts.filter(condition => !seen(Same(condition)))
    if (added.isEmpty) this
    else {
      val usable = added.filter(isUsable)
      new Knowledge(facts ++ usable, seen ++ added.map(Same(_)), ambiguous, equal, usable)
    }
  }

  private def isUsable(condition: Expression): Boolean =
    condition.references.nonEmpty && condition.deterministic && !SubqueryExpression.hasSubquery(condition) &&
      (ambiguous.isEmpty || !condition.references.exists(column => ambiguous(column.exprId))) && Knowledge.isSmall(condition)
}

private[infer] object Knowledge {
  private val MaxNodes = 500

  /** The time to solve them grows with the square of their number: 120 branches of each of four ORs took 1.7 s to plan, 30 of each 0.1 s. */
  private[infer] val MaxBranches = 128

  def empty(ambiguous: Set[ExprId]): Knowledge = new Knowledge(Vector.empty, Set.empty, ambiguous, EqualColumns.None, Nil)

  /** Whether a condition compares columns in another way than by their equality. */
  def comparesColumns(condition: Expression): Boolean = condition match {
    case comparison: BinaryComparison if comparison.left.references.nonEmpty && comparison.right.references.nonEmpty =>
      !EqualColumns.isEquality(comparison)
    // Differences.
    case comparison: BinaryComparison => comparison.references.size > 1
    case _                            => false
  }

  /** Whether a branch of an OR compares columns in any way. */
  def hasComparedColumns(branch: Expression): Boolean =
    Conditions.conjuncts(branch).exists(conjunct => comparesColumns(conjunct) || EqualColumns.isEquality(conjunct))

  private def isSmall(condition: Expression): Boolean = {
    var nodes = 0
    condition.foreach(_ => nodes += 1)
    nodes <= MaxNodes
  }
}
