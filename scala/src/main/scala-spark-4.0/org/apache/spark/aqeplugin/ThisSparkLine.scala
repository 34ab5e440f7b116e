package org.apache.spark.aqeplugin

import scala.xml.Node

import jakarta.servlet.http.HttpServletRequest
import org.apache.spark.SparkConf
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{JoinStrategyHint, PREFER_SHUFFLE_HASH}
import org.apache.spark.sql.catalyst.plans.physical.{ClusteredDistribution, Distribution, SinglePartition}
import org.apache.spark.sql.catalyst.util.InternalRowComparableWrapper
import org.apache.spark.sql.connector.read.HasPartitionKey
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.{ShuffleExchangeExec, ShuffleExchangeLike}
import org.apache.spark.sql.internal.{SQLConf, StaticSQLConf}
import org.apache.spark.sql.vectorized.ColumnVector
import org.apache.spark.ui.{SparkUITab, UIUtils}

/** Spark 4.0. */
object ThisSparkLine extends SparkLineApi {

  override private[spark] def page(request: HttpServletRequest, title: String, content: => Seq[Node], tab: SparkUITab): Seq[Node] =
    UIUtils.headerSparkPage(request, title, content, tab)

  override def selected(vector: ColumnVector, selection: Array[Int]): ColumnVector = new SelectedColumnVector(vector, selection)

  override def withRelation(scan: FileSourceScanExec, relation: HadoopFsRelation): FileSourceScanExec = scan.copy(relation = relation)

  override def withPartitionFilters(scan: FileSourceScanExec, filters: Seq[Expression]): FileSourceScanExec =
    scan.copy(partitionFilters = scan.partitionFilters ++ filters)

  override def withDataFilters(scan: FileSourceScanExec, filters: Seq[Expression]): FileSourceScanExec =
    scan.copy(dataFilters = scan.dataFilters ++ filters)

  override def clusteredBy(keys: Seq[Expression]): Distribution = ClusteredDistribution(keys)

  override def preferredHash: Option[JoinStrategyHint] = Some(PREFER_SHUFFLE_HASH)

  override def hashesWithoutHint(stage: QueryStageExec, conf: SQLConf): Boolean = false

  override def shuffleOf(child: SparkPlan): ShuffleExchangeLike = ShuffleExchangeExec(SinglePartition, child)

  override private[spark] def retainedExecutions(conf: SparkConf): Int = conf.get(StaticSQLConf.UI_RETAINED_EXECUTIONS)

  override def withRuntimeFilters(scan: BatchScanExec, filters: Seq[Expression]): BatchScanExec = scan.copy(runtimeFilters = filters)

  override def keepsPartitions(scan: BatchScanExec): Boolean = {
    val join = scan.spjParams
    // Without common values the scan reports its own. With them it reports those: its own have to be among them, and as they are.
    join.joinKeyPositions.isEmpty && join.reducers.isEmpty && (!join.applyPartialClustering || join.replicatePartitions) &&
    join.commonPartitionValues.forall { common =>
      def values(rows: Seq[InternalRow]) = rows.map(InternalRowComparableWrapper(_, join.keyGroupedPartitioning.getOrElse(Nil))).toSet
      values(scan.inputPartitions.collect { case keyed: HasPartitionKey => keyed.partitionKey() }).subsetOf(values(common.map(_._1)))
    }
  }
}
