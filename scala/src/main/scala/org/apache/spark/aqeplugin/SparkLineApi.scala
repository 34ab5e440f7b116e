package org.apache.spark.aqeplugin

import scala.xml.Node

import jakarta.servlet.http.HttpServletRequest
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.vectorized.ColumnVector
import org.apache.spark.ui.SparkUITab

/** The members of Spark that the plugin uses and that differ between the supported Spark lines.
  *
  * Each line implements the trait once, as `ThisSparkLine` in `scala-spark-<line>`; all other code uses `ThisSparkLine` and none of these
  * members. `tests/build/test_line_differences.py` compares the jars of all lines and fails when shared code refers to a member that
  * differs between them. That includes members whose calls compile on every line only because of default arguments.
  *
  * The differences by line:
  *
  *   - `UIUtils.headerSparkPage` has seven parameters up to 4.1 and eight since 4.2. The added one has a default.
  *   - `ColumnVector` reads geography and geometry values with `getGeography` and `getGeometry` in 4.1 and with `getBinaryView` since 4.2; 4.0 has
  *     neither type. None of the three is abstract, and an Arrow vector does not answer the `getBinary` that their defaults call. A vector that
  *     wraps another one compiles without them and fails the query that reads such a column.
  *   - `BatchScanExec` has six fields of which the last is another one in every line, so its `copy` has another signature.
  */
trait SparkLineApi {

  /** A page of `tab`: Spark's navigation bar and header around `content`. */
  private[spark] def page(request: HttpServletRequest, title: String, content: => Seq[Node], tab: SparkUITab): Seq[Node]

  /** The rows `selection(0)`, `selection(1)`, … of `vector` as rows 0, 1, …, without copying. `vector` implements every getter of the
    * line's `ColumnVector`. Closing the result closes `vector`.
    */
  def selected(vector: ColumnVector, selection: Array[Int]): ColumnVector

  /** The same scan with `filters` as its runtime filters. */
  def withRuntimeFilters(scan: BatchScanExec, filters: Seq[Expression]): BatchScanExec
}
