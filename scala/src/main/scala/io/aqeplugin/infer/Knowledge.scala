package io.aqeplugin.infer

import org.apache.spark.sql.catalyst.expressions._

/** Conditions that are all true in every row that counts: what a join's inputs contribute to its output.
  *
  * @param canonical
  *   the facts in Spark's canonical form
  * @param ambiguous
  *   columns that stand for different values in different parts of the plan; a condition with one of them is not used
  */
private[infer] final class Knowledge private (
    val facts: Vector[Expression],
    canonical: Set[Expression],
    ambiguous: Set[ExprId],
    equalBefore: => EqualColumns,
    fresh: Seq[Expression]
) {
  lazy val equal: EqualColumns = equalBefore.plus(fresh)
  lazy val ordered: Ordered = new Ordered(facts)

  /** The values that each ordered column has in a row that counts; empty if the facts contradict each other. */
  lazy val intervals: Map[ExprId, Interval] = ordered.intervals(facts).getOrElse(Map.empty)

  /** Whether some of [[intervals]] may be new to Spark, which itself carries constants across equalities. */
  lazy val hasInequalities: Boolean = facts.exists(Knowledge.comparesColumns)

  def plus(conditions: Seq[Expression]): Knowledge = {
    val added = Conditions.distinct(
      conditions.flatMap(Conditions.conjuncts).filter(condition => !canonical(condition.canonicalized) && isUsable(condition))
    )
    if (added.isEmpty) this
    else new Knowledge(facts ++ added, canonical ++ added.map(_.canonicalized), ambiguous, equal, added)
  }

  /** The facts that mention none of `columns`. */
  def without(columns: AttributeSet): Knowledge =
    if (facts.isEmpty) this
    else Knowledge.empty(ambiguous).plus(facts.filter(fact => !fact.references.exists(columns.contains)))

  private def isUsable(condition: Expression): Boolean =
    condition.references.nonEmpty && condition.deterministic && !SubqueryExpression.hasSubquery(condition) &&
      (ambiguous.isEmpty || !condition.references.exists(column => ambiguous(column.exprId))) && Knowledge.isSmall(condition)
}

private[infer] object Knowledge {
  private val MaxNodes = 500

  def empty(ambiguous: Set[ExprId]): Knowledge = new Knowledge(Vector.empty, Set.empty, ambiguous, EqualColumns.None, Nil)

  /** Whether a condition compares columns in another way than by their equality. */
  def comparesColumns(condition: Expression): Boolean = condition match {
    case comparison: BinaryComparison if comparison.left.references.nonEmpty && comparison.right.references.nonEmpty =>
      !EqualColumns.isEquality(comparison)
    // Differences.
    case comparison: BinaryComparison => comparison.references.size > 1
    case _                            => false
  }

  private def isSmall(condition: Expression): Boolean = {
    var nodes = 0
    condition.foreach(_ => nodes += 1)
    nodes <= MaxNodes
  }
}
