package io.aqeplugin.exec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.execution.{BaseSubqueryExec, LeafExecNode, SparkPlan, UnaryExecNode}

/** Known keys as rows on the driver, for what Spark takes only from the result of a subquery. Equal keys make equal plans.
  *
  * @param output
  *   the one column
  * @param keys
  *   its values as Spark stores them
  */
private[aqeplugin] case class KeyRowsExec(output: Seq[Attribute], @transient keys: Seq[Any]) extends LeafExecNode {
  override def executeCollect(): Array[InternalRow] = {
    val project = UnsafeProjection.create(output, output)
    keys.map(key => project(InternalRow(key)).copy(): InternalRow).toArray
  }

  override protected def doExecute(): RDD[InternalRow] = sparkContext.parallelize(executeCollect().toSeq, 1)

  override protected def doCanonicalize(): SparkPlan = copy(output = output.map(QueryPlan.normalizeExpressions(_, output)))

  override def nodeName: String = "KnownKeys"
  // The text of a plan is made again with each of its stages, and a key can have megabytes.
  override protected def stringArgs: Iterator[Any] = Iterator(s"${keys.size} of ${output.map(_.name).mkString(", ")}")
}

/** A subquery whose rows are there. Spark's own takes a thread of a pool that all queries share, and may find none. */
private[exec] case class ReadyRowsExec(name: String, child: SparkPlan) extends BaseSubqueryExec with UnaryExecNode {
  override def executeCollect(): Array[InternalRow] = child.executeCollect()
  override protected def doExecute(): RDD[InternalRow] = child.execute()
  override protected def withNewChildInternal(newChild: SparkPlan): ReadyRowsExec = copy(child = newChild)
}
