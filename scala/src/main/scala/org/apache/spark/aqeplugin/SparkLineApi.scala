package org.apache.spark.aqeplugin

import scala.xml.Node

import jakarta.servlet.http.HttpServletRequest
import org.apache.spark.SparkConf
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.JoinStrategyHint
import org.apache.spark.sql.catalyst.plans.physical.{ClusteredDistribution, Distribution, SinglePartition}
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.{ShuffleExchangeExec, ShuffleExchangeLike}
import org.apache.spark.sql.internal.{SQLConf, StaticSQLConf}
import org.apache.spark.sql.vectorized.ColumnVector
import org.apache.spark.ui.{SparkUITab, UIUtils}

/** The members of Spark that the plugin uses and that differ between the supported Spark lines.
  *
  * What every line compiles from the same source is implemented here, the rest once for each line, as `ThisSparkLine` in `scala-spark-<line>`; all
  * other code uses `ThisSparkLine` and none of these members. `tests/build/test_line_differences.py` compares the jars of all lines and fails when shared code refers to a member that
  * differs between them. That includes members whose calls compile on every line only because of default arguments.
  *
  * The differences by line:
  *
  *   - `UIUtils.headerSparkPage` has seven parameters up to 4.1 and eight since 4.2. The added one has a default.
  *   - `ColumnVector` reads geography and geometry values with `getGeography` and `getGeometry` in 4.1 and with `getBinaryView` since 4.2; 4.0 has
  *     neither type. None of the three is abstract, and an Arrow vector does not answer the `getBinary` that their defaults call. A vector that
  *     wraps another one compiles without them and fails the query that reads such a column.
  *   - `FileSourceScanExec` has one field more since 4.3, so its `copy` has another signature; so has the constructor of `ClusteredDistribution`
  *     and that of `ShuffleExchangeExec`.
  *   - AQE marks a side to be hashed with the hint `PREFER_SHUFFLE_HASH` up to 4.2. Since 4.3 there is no such hint: a rule on the physical plan
  *     replaces sort-merge joins.
  *   - The conf entry `UI_RETAINED_EXECUTIONS` has another class since 4.3.
  *   - `BatchScanExec` has six fields of which the last is another one in every line, so its `copy` has another signature.
  *   - What a scan reports of its partitions, and what a storage-partitioned join makes of it, is in the scan up to 4.1 (`spjParams`), and since 4.2 in an
  *     operator above it.
  *   - `TimeType` is there since 4.1.
  */
trait SparkLineApi {

  /** A page of `tab`: Spark's navigation bar and header around `content`. */
  private[spark] def page(request: HttpServletRequest, title: String, content: => Seq[Node], tab: SparkUITab): Seq[Node] =
    UIUtils.headerSparkPage(request, title, content, tab)

  /** The rows `selection(0)`, `selection(1)`, … of `vector` as rows 0, 1, …, without copying. `vector` implements every getter of the
    * line's `ColumnVector`. Closing the result closes `vector`.
    */
  def selected(vector: ColumnVector, selection: Array[Int]): ColumnVector

  /** The same scan with another relation. */
  def withRelation(scan: FileSourceScanExec, relation: HadoopFsRelation): FileSourceScanExec = scan.copy(relation = relation)

  /** The same scan with `filters` after its conditions on partitions. */
  def withPartitionFilters(scan: FileSourceScanExec, filters: Seq[Expression]): FileSourceScanExec =
    scan.copy(partitionFilters = scan.partitionFilters ++ filters)

  /** The same scan with `filters` after its conditions on data. */
  def withDataFilters(scan: FileSourceScanExec, filters: Seq[Expression]): FileSourceScanExec =
    scan.copy(dataFilters = scan.dataFilters ++ filters)

  /** That rows of equal keys are in one partition. */
  def clusteredBy(keys: Seq[Expression]): Distribution = ClusteredDistribution(keys)

  /** The hint by which AQE prefers a shuffled hash join to a sort-merge join; none where it has no such hint. */
  def preferredHash: Option[JoinStrategyHint]

  /** Whether AQE hashes a join for which it would else sort, because this finished side of it is small. It has no hint of that in the logical plan. */
  def hashesWithoutHint(stage: QueryStageExec, conf: SQLConf): Boolean = false

  /** A shuffle of `child` into one partition. */
  def shuffleOf(child: SparkPlan): ShuffleExchangeLike = ShuffleExchangeExec(SinglePartition, child)

  /** How many queries Spark's UI keeps. */
  private[spark] def retainedExecutions(conf: SparkConf): Int = conf.get(StaticSQLConf.UI_RETAINED_EXECUTIONS)

  /** The same scan with `filters` as its runtime filters. */
  def withRuntimeFilters(scan: BatchScanExec, filters: Seq[Expression]): BatchScanExec = scan.copy(runtimeFilters = filters)

  /** The same scan of another source. */
  def withSource(scan: BatchScanExec, source: Scan): BatchScanExec = scan.copy(scan = source)

  /** Whether the partitions that a scan reports to its plan are still true when its source leaves out some of its files. Else Spark fails the
    * query that reads them: a storage-partitioned join may have agreed on the values of both sides, on some of their columns, or on the number
    * of splits of each value, and fewer files may be cut into more splits.
    */
  def keepsPartitions(scan: BatchScanExec): Boolean
}
