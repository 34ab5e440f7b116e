package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.{Expression, PredicateHelper}

/** The conditions that a condition is the conjunction of. */
private[observe] object Conjuncts extends PredicateHelper {
  def of(condition: Expression): Seq[Expression] = splitConjunctivePredicates(condition)
}
