package io.aqeplugin.infer

import org.apache.spark.sql.catalyst.expressions.Expression

import io.aqeplugin.conf.{Named, Names}

/** How a predicate follows from a join's conditions. */
sealed abstract class InferredBy(val name: String, val meaning: String) extends Named

object InferredBy extends Names[InferredBy] {
  case object EqualColumn
      extends InferredBy("EQUAL_COLUMN", "every column of a condition equals a column of this side, so the condition holds on this side")
  case object OrOverSides
      extends InferredBy("OR_OVER_SIDES", "every alternative of an OR says something about this side, so one of these parts is true")
  case object Inequality
      extends InferredBy("INEQUALITY", "comparisons with columns of other sides bound the column of this side by a constant")

  val All: Seq[InferredBy] = Seq(EqualColumn, OrOverSides, Inequality)
}

/** A predicate that is true in every row of one side that counts. It has a value for every row of that side and never fails. */
final case class InferredPredicate(condition: Expression, by: InferredBy)
