package io.aqeplugin.exec

import java.util.concurrent.atomic.AtomicBoolean

import org.apache.spark.SparkException
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.execution.{CodegenSupport, LeafExecNode, WholeStageCodegenExec}
import org.apache.spark.sql.types.{DataType, Decimal, DecimalType, StringType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.metrics.Faults

/** An error while the code of a key is made, in code that Spark generates for a stage.
  *
  * No value that Spark can pass on is known to make one: whatever the sketch reads of a key, Spark reads too when it writes the row. So the
  * rows here come from an operator whose key fails for its first reader, the sketch, and not for the second, the row.
  */
class SketchFaultsSuite extends AnyFunSuite with PluginSession {

  private val Rows = 3000

  private def run(keyType: DataType, failure: Option[Throwable]): (KeySketchExec, Seq[String], Long) =
    // A function of its own for an operator would be given the key, read before.
    withConf("spark.sql.codegen.splitConsumeFuncByOperator" -> "false") {
      val faults = Faults.count
      val sketch = {
        val source = FailingKeysExec(keyType, Rows, failure)
        KeySketchExec(source.output, 10000, source)
      }
      val rows = WholeStageCodegenExec(sketch)(1).execute().map(_.copy()).collect()
      (sketch, rows.toSeq.map(_.get(0, keyType).toString), Faults.count - faults)
    }

  private def failures: Seq[Throwable] = Seq(new IllegalStateException, new StackOverflowError, new NoClassDefFoundError)

  test("without an error, every string key is counted") {
    val (sketch, rows, faults) = run(StringType, None)
    assert(rows == (0 until Rows).map(_.toString) && sketch.summary.map(_.distinct).contains(Rows.toLong) && faults == 0)
  }

  for (keyType <- Seq(StringType, DecimalType(30, 0)); failure <- failures)
    test(s"${failure.getClass.getSimpleName} from a key of type ${keyType.sql} ends the sketch of the task, and all rows pass") {
      val (sketch, rows, faults) = run(keyType, Some(failure))
      assert(rows == (0 until Rows).map(_.toString) && sketch.summary.isEmpty && faults == 1)
    }

  test("an error that must end the task ends it") {
    val error = intercept[SparkException](run(StringType, Some(new InterruptedException)))
    assert(error.getMessage.contains("InterruptedException"))
  }
}

/** One task with a key in each of `rows` rows, the number of its row; reading one in the middle fails, the first time. */
private case class FailingKeysExec(keyType: DataType, rows: Int, failure: Option[Throwable]) extends LeafExecNode with CodegenSupport {

  override val output: Seq[Attribute] = Seq(AttributeReference("k", keyType, nullable = false)())

  override def inputRDDs(): Seq[RDD[InternalRow]] = Seq(sparkContext.parallelize(Seq.empty[InternalRow], numSlices = 1))

  override protected def doProduce(ctx: CodegenContext): String = {
    val keys = ctx.addReferenceObj("keys", new FailingKeys(keyType, rows / 2, failure))
    // Spark calls the code until it makes no more rows.
    val row = ctx.addMutableState(CodeGenerator.JAVA_INT, "row")
    val value = JavaCode.expression(s"((${CodeGenerator.boxedType(keyType)}) $keys.read($row))", keyType)
    s"""while ($row < $rows) {
       |  ${consume(ctx, Seq(ExprCode(FalseLiteral, value)))}
       |  $row++;
       |  if (shouldStop()) return;
       |}""".stripMargin
  }

  override protected def doExecute(): RDD[InternalRow] = throw new UnsupportedOperationException("only as generated code")
}

/** Generated code calls it. */
private[exec] final class FailingKeys(keyType: DataType, failsAt: Int, failure: Option[Throwable]) extends Serializable {
  private val hasFailed = new AtomicBoolean()

  def read(row: Int): Any = {
    if (row == failsAt && hasFailed.compareAndSet(false, true)) failure.foreach(throw _)
    keyType match {
      case _: DecimalType => Decimal(BigDecimal(row), 30, 0)
      case _              => UTF8String.fromString(row.toString)
    }
  }
}
