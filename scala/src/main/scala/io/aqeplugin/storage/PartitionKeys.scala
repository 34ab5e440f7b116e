package io.aqeplugin.storage

import scala.util.Try

import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.CatalogFileIndex

import io.aqeplugin.exec.ColumnKeys
import io.aqeplugin.observe.{JoinKey, TableStatistics}

/** Partitions of tables of files, of any format: those without a key are not listed. Not of Delta's, which would list its files anew. */
private[storage] object PartitionKeys extends KeyedFormat {

  /** More keys are not listed: a list is copied to the scan's tasks with its other conditions. */
  private val MaxListed = 1000

  override def narrowed(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Option[SparkPlan] = scan match {
    case file: FileSourceScanExec if PartitionRange.isPartition(file, keys.column) && DeltaScan.selectedFiles(file).isEmpty =>
      // A catalog may know what a range is, but not the filter. It orders texts in its own way.
      def ranges: Option[Expression] = if (keys.areTexts) None else keys.isInRanges
      val found: Seq[Expression] = keys.isListed(mostListed(file, keys)).fold(ranges.toSeq ++ keys.mayBe)(Seq(_))
      Option.when(found.nonEmpty)(UnlistedFiles.counted(file, ThisSparkLine.withPartitionFilters(file, found)))
        .filter(canListPartitions)
    case _ => None
  }

  /** Of a longer list, Spark asks a metastore for the range from its least to its greatest value. */
  private def mostListed(scan: FileSourceScanExec, keys: KnownKeys): Int =
    if (keys.areTexts) math.min(MaxListed, scan.conf.metastorePartitionPruningInSetThreshold) else MaxListed

  /** Whether partitions are left out by a key that is computed of their value. Delta looks for its files anew if a scan has other conditions
    * than it had when Delta planned it.
    */
  def canCompute(scan: SparkPlan, key: Expression): Boolean = scan match {
    case file: FileSourceScanExec => PartitionRange.isPartition(file, JoinKey.columnOf(key)) && !DeltaScan.isOne(file)
    case _                        => false
  }

  /** `scan` without the partitions whose key, computed of the partition's value, is not in the filter; none if there are no such partitions, or
    * the driver does not have the filter.
    */
  def narrowed(scan: SparkPlan, key: Expression, built: ColumnKeys): Option[SparkPlan] = scan match {
    case file: FileSourceScanExec if canCompute(file, key) =>
      built.small.map(filter => UnlistedFiles.counted(file, ThisSparkLine.withPartitionFilters(file, Seq(MayBeKey(key, filter)))))
        .filter(canListPartitions)
    case _ => None
  }

  /** Whether the catalog accepts the conditions on partitions. Some metastores reject some types or long lists, which fails the query; they
    * are asked here and not when the scan starts.
    */
  private def canListPartitions(scan: FileSourceScanExec): Boolean = scan.relation.location match {
    case _: CatalogFileIndex => Try(scan.selectedPartitions).isSuccess
    case _                   => true
  }
}
