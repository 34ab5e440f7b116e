package io.aqeplugin.exec

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, BindReferences, Expression, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.aqeplugin.observe.JoinKey
import io.aqeplugin.sketch._

/** Passes the rows of a build side on to its exchange, and sketches their keys meanwhile: number, nulls, distinct keys, quantiles, and while
  * they are few, the keys themselves. Of keys of several columns, it sketches each column too.
  *
  * It is part of the generated code of the operators below, and reads the keys from their variables.
  *
  * It does not show: its canonical form is that of its child, so exchanges with and without it are equal, and AQE reuses either for both.
  *
  * @param keys
  *   over columns of `child`, each a [[io.aqeplugin.observe.JoinKey]]; one that is no column has a value for every row
  * @param exactCodes
  *   number of distinct keys up to which all are kept
  */
case class KeySketchExec(keys: Seq[Expression], exactCodes: Int, child: SparkPlan) extends UnaryExecNode with CodegenSupport {

  // One, unless code was generated again, by EXPLAIN CODEGEN or because it did not compile. Only the final copy of the node runs.
  @transient @volatile private var running = Vector.empty[SketchAccumulator]

  // Set by doProduce for doConsume, as Spark's own operators do it.
  private var sketch: GeneratedSketch = _

  // A finished stage is asked again by every re-plan.
  @transient private lazy val finished = running.flatMap(_.take())

  private lazy val coder = KeyCoder(keys, child.output)

  /** What its tasks saw; none if one of them has not finished. Must not be asked before the stage has finished. */
  def summary: Option[KeySummary] = finished.headOption

  /** None before the first task has finished and after the summary was asked for. */
  def progress: Option[SketchProgress] = running.flatMap(_.progress).headOption

  /** The keys with the numbers of their columns. */
  def numberedKeys: Seq[Expression] = JoinKey.numbered(keys, child.output)

  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override def supportsColumnar: Boolean = child.supportsColumnar

  override protected def doExecute(): RDD[InternalRow] = {
    val task = begin()
    child.execute().mapPartitions(
      { rows =>
        val sketch = task.get()
        rows.map { row => sketch.add(row); row }
      },
      preservesPartitioning = true
    )
  }

  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = {
    val task = begin()
    child.executeColumnar().mapPartitions(
      { batches =>
        val sketch = task.get()
        batches.map { batch => sketch.add(batch); batch }
      },
      preservesPartitioning = true
    )
  }

  override def supportCodegen: Boolean = !supportsColumnar

  override def inputRDDs(): Seq[RDD[InternalRow]] = generated.inputRDDs()

  override def usedInputs: AttributeSet = AttributeSet.fromAttributeSets(keys.map(_.references))

  override protected def doProduce(ctx: CodegenContext): String = {
    sketch = GeneratedSketch.open(ctx, begin(), coder)
    generated.produce(ctx, this)
  }

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    ctx.INPUT_ROW = null
    ctx.currentVars = input
    val values = keys.map(BindReferences.bindReference(_, child.output).genCode(ctx))
    val hasNull = values.map(_.isNull.code).filter(_ != "false")
    val add = sketch.add(values.map(_.value.code))
    val added = if (hasNull.isEmpty) add else s"if (${hasNull.mkString(" || ")}) { ${sketch.addNull} } else { $add }"
    // An integer column is its own code; to compute another key or its code may fail.
    val sketched =
      if (coder.isExact && !coder.computes) added
      else
        s"""if (${sketch.isOpen}) {
           |  try {
           |    ${values.map(_.code).mkString("\n")}
           |    $added
           |  } catch (Throwable error) { ${sketch.fail("error")} }
           |}""".stripMargin
    s"""${if (coder.isExact && !coder.computes) values.map(_.code).mkString("\n") else ""}
       |$sketched
       |${consume(ctx, input)}""".stripMargin
  }

  // Spark puts an adapter below where the child has no generated code.
  private def generated: CodegenSupport = child.asInstanceOf[CodegenSupport]

  private def begin(): SketchTask = {
    val sketches = new SketchAccumulator(SketchLimits.forTasks(1, exactCodes))
    sparkContext.register(sketches)
    running :+= sketches
    SketchTask(coder, exactCodes, sketches)
  }

  override protected def doCanonicalize(): SparkPlan = child.canonicalized

  override def nodeName: String = "KeySketch"
  override def simpleString(maxFields: Int): String = s"$nodeName ${keys.map(_.sql).mkString("[", ", ", "]")}"

  override protected def withNewChildInternal(newChild: SparkPlan): KeySketchExec = copy(child = newChild)
}
