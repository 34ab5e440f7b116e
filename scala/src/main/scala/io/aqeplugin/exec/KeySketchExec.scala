package io.aqeplugin.exec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.aqeplugin.sketch._

/** Passes the rows of a build side on to its exchange, and sketches their keys meanwhile: number, nulls, distinct keys, quantiles, the most
  * frequent key, and while they are few, the keys themselves.
  *
  * It does not show: its canonical form is that of its child, so exchanges with and without it are equal, and AQE reuses either for both.
  *
  * @param keys
  *   columns of `child`, each with a [[io.aqeplugin.observe.KeyKind]]
  * @param exactCodes
  *   number of distinct keys up to which all are kept
  */
case class KeySketchExec(keys: Seq[Attribute], exactCodes: Int, child: SparkPlan) extends UnaryExecNode {

  // Set when the node runs, which only the final copy of it does.
  @transient @volatile private var running: Option[(SketchAccumulator, Int)] = None

  // A finished stage is asked again by every re-plan.
  @transient private lazy val finished = running.flatMap { case (sketches, partitions) => sketches.take(partitions) }

  /** What its tasks saw; none if one of them has not finished. Must not be asked before the stage has finished. */
  def summary: Option[KeySummary] = finished

  /** The positions of the keys among the columns. */
  def ordinals: Seq[Int] = keys.map(key => child.output.indexWhere(_.exprId == key.exprId))

  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override def supportsColumnar: Boolean = child.supportsColumnar

  override protected def doExecute(): RDD[InternalRow] = {
    val rows = child.execute()
    val task = begin(rows.getNumPartitions)
    rows.mapPartitionsWithIndex((partition, part) => new SketchedRows(part, task.open(partition)), preservesPartitioning = true)
  }

  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = {
    val batches = child.executeColumnar()
    val task = begin(batches.getNumPartitions)
    batches.mapPartitionsWithIndex((partition, part) => new SketchedBatches(part, task.open(partition)), preservesPartitioning = true)
  }

  private def begin(partitions: Int): SketchTask = {
    val sketches = new SketchAccumulator(SketchLimits.forTasks(1, exactCodes))
    sparkContext.register(sketches)
    running = Some((sketches, partitions))
    SketchTask(KeyCoder(keys, child.output), SketchLimits.forTasks(partitions, exactCodes), sketches)
  }

  override protected def doCanonicalize(): SparkPlan = child.canonicalized

  override def nodeName: String = "KeySketch"
  override def simpleString(maxFields: Int): String = s"$nodeName ${keys.map(_.sql).mkString("[", ", ", "]")}"

  override protected def withNewChildInternal(newChild: SparkPlan): KeySketchExec = copy(child = newChild)
}
