package org.apache.spark.aqeplugin

import scala.xml.Node

import jakarta.servlet.http.HttpServletRequest
import org.apache.spark.sql.catalyst.expressions.{Add, BinaryArithmetic, EvalMode, Subtract}
import org.apache.spark.sql.vectorized.ColumnVector
import org.apache.spark.ui.{SparkUITab, UIUtils}

/** Spark 4.0. */
object ThisSparkLine extends SparkLineApi {

  override private[spark] def page(request: HttpServletRequest, title: String, content: => Seq[Node], tab: SparkUITab): Seq[Node] =
    UIUtils.headerSparkPage(request, title, content, tab)

  override def selected(vector: ColumnVector, selection: Array[Int]): ColumnVector = new SelectedColumnVector(vector, selection)

  override def evalMode(sum: BinaryArithmetic): EvalMode.Value = sum match {
    case add: Add           => add.evalMode
    case subtract: Subtract => subtract.evalMode
    case _                  => EvalMode.LEGACY
  }
}
