package org.apache.spark.aqeplugin

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.{JoinStrategyHint, PREFER_SHUFFLE_HASH}
import org.apache.spark.sql.catalyst.util.InternalRowComparableWrapper
import org.apache.spark.sql.connector.read.HasPartitionKey
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.vectorized.ColumnVector

/** Spark 4.0. */
object ThisSparkLine extends SparkLineApi {

  override def selected(vector: ColumnVector, selection: Array[Int]): ColumnVector = new SelectedColumnVector(vector, selection)

  override def preferredHash: Option[JoinStrategyHint] = Some(PREFER_SHUFFLE_HASH)

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
