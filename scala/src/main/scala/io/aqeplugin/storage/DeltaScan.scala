package io.aqeplugin.storage

import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.PartitionDirectory

/** Scans of Delta tables, which are scans of Parquet files with a format of Delta's own. It is known by name: the plugin does not depend on
  * Delta.
  */
private[storage] object DeltaScan {
  private val Format = "org.apache.spark.sql.delta.DeltaParquetFileFormat"

  /** Columns that Delta computes while it reads: whether a row is deleted, its number. */
  private val InternalPrefix = "__delta_internal"

  /** The file's own attribute that names its deletion vector. */
  private val DeletionVector = "row_index_filter_id_encoded"

  /** The attribute of a column whose name in files is another one. */
  private val NameInFiles = "delta.columnMapping.physicalName"

  def isOne(scan: FileSourceScanExec): Boolean = scan.relation.fileFormat.getClass.getName == Format

  /** Whether a footer's rows and columns may be others than those that the table has. */
  def differsFromFiles(scan: FileSourceScanExec, partitions: Seq[PartitionDirectory]): Boolean =
    scan.output.exists(_.name.startsWith(InternalPrefix)) ||
      scan.requiredSchema.exists(_.metadata.contains(NameInFiles)) ||
      partitions.exists(_.files.exists(_.metadata.contains(DeletionVector)))
}
