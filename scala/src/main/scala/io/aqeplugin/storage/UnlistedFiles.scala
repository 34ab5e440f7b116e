package io.aqeplugin.storage

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Expression, FileSourceConstantMetadataAttribute}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex

import io.aqeplugin.exec.{DataFiles, LeftOut, UnreadFiles}
import io.aqeplugin.observe.Conjuncts

/** Whole files that keys leave out of a scan of files: those that Spark or Delta does not list. What a reader leaves out of the others, it
  * does not tell.
  */
private[storage] object UnlistedFiles {

  /** `narrowed`, which takes the place of `scan`. Spark and Delta tell what all keys together have left, so the first ones count for all. */
  def counted(scan: FileSourceScanExec, narrowed: FileSourceScanExec): FileSourceScanExec = {
    val copy = KeyedFormat.linked(scan, narrowed)
    if (LeftOut.of(scan).isEmpty) LeftOut.counted(scan, copy, Some(leftOut(scan, _))) else copy
  }

  private def leftOut(scan: FileSourceScanExec, ran: SparkPlan): Option[UnreadFiles] =
    for {
      // First, as a scan in an engine's plan is asked before it runs.
      left <- listed(ran)
      all <- Try(withoutKeys(scan)).toOption.flatten
      // Somebody may have refreshed the list in between.
      if left.count <= all.count && left.bytes <= all.bytes
    } yield UnreadFiles(DataFiles(all.count - left.count, all.bytes - left.bytes), all.count)

  /** None if that is known only by a new look at files or at a catalog, or if Spark leaves out others too when it runs the scan. */
  private def withoutKeys(scan: FileSourceScanExec): Option[DataFiles] = scan.relation.location match {
    case _ if scan.partitionFilters.exists(Conjuncts.isKnownLater) || scan.dataFilters.exists(isOfFiles) => None
    case index: InMemoryFileIndex => Some(IndexedPartitions.files(index, scan.partitionFilters))
    case _                        => DeltaScan.listed(scan)
  }

  /** A condition on the path, the size or the time of a file. */
  private def isOfFiles(condition: Expression): Boolean = condition.references.exists {
    case FileSourceConstantMetadataAttribute(_) => true
    case _                                      => false
  }

  /** What a scan has listed; none if it has not run, as where an engine reads its files. */
  private def listed(scan: SparkPlan): Option[DataFiles] =
    for (count <- scan.metrics.get("numFiles"); bytes <- scan.metrics.get("filesSize") if !bytes.isZero)
      yield DataFiles(count.value, bytes.value)
}
