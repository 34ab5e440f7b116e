package org.apache.spark.aqeplugin

import org.apache.spark.sql.catalyst.plans.logical.JoinStrategyHint
import org.apache.spark.sql.catalyst.plans.physical.KeyedPartitioning
import org.apache.spark.sql.execution.adaptive.{QueryStageExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.vectorized.ColumnVector
import org.apache.spark.unsafe.types.{BinaryView, TimestampNanosVal}

/** Spark 4.3. */
object ThisSparkLine extends SparkLineApi {

  override def selected(vector: ColumnVector, selection: Array[Int]): ColumnVector = new SelectedColumnVector(vector, selection) {
    override def getBinaryView(rowId: Int): BinaryView = vector.getBinaryView(selection(rowId))
    override def getTimestampNTZNanos(rowId: Int): TimestampNanosVal = vector.getTimestampNTZNanos(selection(rowId))
    override def getTimestampLTZNanos(rowId: Int): TimestampNanosVal = vector.getTimestampLTZNanos(selection(rowId))
  }

  override def preferredHash: Option[JoinStrategyHint] = None

  override def hashesWithoutHint(stage: QueryStageExec, conf: SQLConf): Boolean = stage match {
    case shuffle: ShuffleQueryStageExec =>
      val mostBytes = conf.getConf(SQLConf.ADAPTIVE_MAX_SHUFFLE_HASH_JOIN_LOCAL_MAP_THRESHOLD)
      // The rule ConvertSortMergeJoinToShuffledHashJoin, for a side without operators above its shuffle.
      val factor = math.max(1.0, conf.convertSortMergeJoinToShuffledHashJoinMinWideningFactor)
      conf.convertSortMergeJoinToShuffledHashJoinEnabled &&
      conf.getConf(SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES) <= mostBytes &&
      shuffle.mapStats.exists(_.bytesByPartitionId.forall(_ * factor <= mostBytes))
    case _ => false
  }

  // As in 4.2: fewer files may be cut into more splits, of which Spark accepts no more for a value than there were.
  override def keepsPartitions(scan: BatchScanExec): Boolean = !scan.outputPartitioning.isInstanceOf[KeyedPartitioning]
}
