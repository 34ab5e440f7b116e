package io.aqeplugin.storage

import scala.util.Try

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

  /** The column mapping of a table whose columns have their own names in its files. */
  private val NoMapping = "none"

  def isOne(scan: FileSourceScanExec): Boolean = scan.relation.fileFormat.getClass.getName == Format

  /** Whether a footer's rows and columns may be others than those that the table has. */
  def differsFromFiles(scan: FileSourceScanExec, partitions: Seq[PartitionDirectory]): Boolean =
    scan.output.exists(_.name.startsWith(InternalPrefix)) ||
      !columnMapping(scan).contains(NoMapping) ||
      partitions.exists(_.files.exists(_.metadata.contains(DeletionVector)))

  /** The format knows the table's column mapping; Delta removes it from the schema of the scan. */
  private def columnMapping(scan: FileSourceScanExec): Option[String] = {
    def valueOf(owner: AnyRef, method: String): AnyRef = owner.getClass.getMethod(method).invoke(owner)
    Try(valueOf(valueOf(scan.relation.fileFormat, "columnMappingMode"), "name")).toOption.collect { case mode: String => mode }
  }
}
