package org.apache.spark.aqeplugin

import org.apache.spark.sql.catalyst.plans.logical.{JoinStrategyHint, PREFER_SHUFFLE_HASH}
import org.apache.spark.sql.catalyst.plans.physical.KeyedPartitioning
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.vectorized.ColumnVector
import org.apache.spark.unsafe.types.BinaryView

/** Spark 4.2. */
object ThisSparkLine extends SparkLineApi {

  override def selected(vector: ColumnVector, selection: Array[Int]): ColumnVector = new SelectedColumnVector(vector, selection) {
    override def getBinaryView(rowId: Int): BinaryView = vector.getBinaryView(selection(rowId))
  }

  override def preferredHash: Option[JoinStrategyHint] = Some(PREFER_SHUFFLE_HASH)

  // Fewer files may be cut into more splits, of which Spark 4.2 accepts no more for a value than there were.
  override def keepsPartitions(scan: BatchScanExec): Boolean = !scan.outputPartitioning.isInstanceOf[KeyedPartitioning]
}
