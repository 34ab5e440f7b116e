package io.aqeplugin.limit

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.execution.FileSourceScanExec

import io.aqeplugin.storage.{ConditionRanges, ScanAdapter}

/** Makes the scans of a sorted limit.
  *
  * @param key
  *   the scan's column that is the first sort key
  */
private final class TopReader(limited: LimitedScan, files: ScanFiles, key: AttributeReference, order: TopOrder) {

  /** The scan of all files that may hold a first row. */
  def reading(found: TopSearch): FileSourceScanExec =
    files.reading(found.files.map(_.position), found.proven.flatMap(_.bound).flatMap(upTo).toSeq)

  /** Makes scans of a part of the files of `whole`. */
  def scanOf(whole: FileSourceScanExec): TopScan = new TopScan {

    // Spark's and other rules may have copied the scan since.
    override def narrowed(scan: FileSourceScanExec, chosen: Seq[TopFile], bound: Option[TopOrder.Rank]): Option[FileSourceScanExec] =
      Option.when(scan.relation.location eq whole.relation.location) {
        files.narrowed(scan, chosen.map(_.position), bound.flatMap(order.value).flatMap(upTo).toSeq)
      }

    override def rank(value: Option[Any]): TopOrder.Rank =
      order.rank(value.flatMap(ConditionRanges.constantRange).flatMap(_.range).map(_._1))
  }

  private def upTo(bound: Long): Option[Expression] = ScanAdapter.upTo(limited.scan, key, bound, order.descending, order.nullsFirst)
}
