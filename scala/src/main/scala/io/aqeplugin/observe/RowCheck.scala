package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.{Expression, TaggingExpression}

/** A predicate that Spark checks in each row and does not give to the source of the rows. Spark's push-down translates only expressions that
  * it knows. Partitions are pruned by it all the same, because Spark evaluates the predicate for their values.
  */
final case class RowCheck(child: Expression) extends TaggingExpression {
  override def prettyName: String = "row_check"
  override protected def withNewChildInternal(newChild: Expression): RowCheck = copy(child = newChild)
}
