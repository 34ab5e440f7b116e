package io.aqeplugin.storage

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan

/** What was found for a scan and some keys. Spark plans a query again after each of its stages, and its scan nodes anew; the logical node stays. */
private[storage] final class PerRelation[Q, A](name: String) {
  private val tag = TreeNodeTag[Map[Q, Option[A]]](s"aqePlugin.$name")

  /** The answer to a question of the relation that has a column, which is asked once. */
  def of(scan: SparkPlan, column: Attribute, question: Q)(find: => Option[A]): Option[A] = {
    val node: Option[LogicalPlan] =
      scan.logicalLink.flatMap(_.collectLeaves().find(_.output.exists(_.exprId == column.exprId)))
    val known = node.flatMap(_.getTagValue(tag)).getOrElse(Map.empty)
    known.getOrElse(
      question, {
        val found = find
        node.foreach(_.setTagValue(tag, known.updated(question, found)))
        found
      }
    )
  }
}
