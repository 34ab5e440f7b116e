package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.{DynamicPruning, Expression, PlanExpression, PredicateHelper}

/** The conditions that a condition is the conjunction of. */
object Conjuncts extends PredicateHelper {
  def of(condition: Expression): Seq[Expression] = splitConjunctivePredicates(condition)

  /** Whether a condition has its value only when the query runs. */
  def isKnownLater(condition: Expression): Boolean = condition.exists {
    case _: DynamicPruning | _: PlanExpression[_] => true
    case _                                        => false
  }
}
