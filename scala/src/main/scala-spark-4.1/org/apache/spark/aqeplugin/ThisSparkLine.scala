package org.apache.spark.aqeplugin

import scala.xml.Node

import jakarta.servlet.http.HttpServletRequest
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.vectorized.ColumnVector
import org.apache.spark.ui.{SparkUITab, UIUtils}
import org.apache.spark.unsafe.types.{GeographyVal, GeometryVal}

/** Spark 4.1. */
object ThisSparkLine extends SparkLineApi {

  override private[spark] def page(request: HttpServletRequest, title: String, content: => Seq[Node], tab: SparkUITab): Seq[Node] =
    UIUtils.headerSparkPage(request, title, content, tab)

  override def selected(vector: ColumnVector, selection: Array[Int]): ColumnVector = new SelectedColumnVector(vector, selection) {
    override def getGeography(rowId: Int): GeographyVal = vector.getGeography(selection(rowId))
    override def getGeometry(rowId: Int): GeometryVal = vector.getGeometry(selection(rowId))
  }

  override def withRuntimeFilters(scan: BatchScanExec, filters: Seq[Expression]): BatchScanExec = scan.copy(runtimeFilters = filters)
}
