package io.aqeplugin.storage

import scala.util.Try

import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.PartitionDirectory

import io.aqeplugin.decide.{EstimateSource, RowEstimate}
import io.aqeplugin.observe.TableFacts

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

  /** The column mapping of a table whose columns have names in its files that Delta's log has. */
  private val MappingByName = "name"

  /** The list of files that Delta made while it planned the query. */
  private val PreparedIndex = "org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex"

  def isOne(scan: FileSourceScanExec): Boolean = scan.relation.fileFormat.getClass.getName == Format

  /** Whether a footer's rows and columns may be others than those that the table has. */
  def differsFromFiles(scan: FileSourceScanExec, partitions: Seq[PartitionDirectory]): Boolean =
    scan.output.exists(_.name.startsWith(InternalPrefix)) ||
      !columnMapping(scan).contains(NoMapping) ||
      partitions.exists(_.files.exists(_.metadata.contains(DeletionVector)))

  /** What the log of the table says: the bytes of all its files, and their rows where Delta has read the statistics of its log for a condition
    * on a column that is no partition. Conditions on partitions alone need no statistics, and files may have none.
    */
  def facts(scan: FileSourceScanExec): Option[TableFacts] = {
    def known(size: AnyRef, member: String): Option[Long] =
      Try(valueOf(size, member)).toOption.collect { case Some(number: Long) if number >= 0 => number }
    Try(valueOf(valueOf(scan.relation.location, "preparedScan"), "total")).toOption.filter(_ != null).map { total =>
      val rows = known(total, "logicalRows").orElse(known(total, "rows"))
      TableFacts(rows.map(RowEstimate(_, EstimateSource.DeltaLog)), bytes = known(total, "bytesCompressed"))
    }
  }

  /** The number of files that Delta selected while it planned the query; none for scans of another kind, such as those of changes. */
  def preparedFiles(scan: FileSourceScanExec): Option[Int] =
    if (!isOne(scan) || scan.relation.location.getClass.getName != PreparedIndex) None
    else
      Try(valueOf(valueOf(scan.relation.location, "preparedScan"), "files")).toOption.collect { case files: scala.collection.Seq[_] =>
        files.size
      }

  /** Whether the names that Delta gives to conditions are those of the same columns in each file. Columns that are read by their field ids may
    * have any name in a file.
    */
  def readsByName(scan: FileSourceScanExec): Boolean = columnMapping(scan).exists(Set(NoMapping, MappingByName))

  private def valueOf(owner: AnyRef, method: String): AnyRef = owner.getClass.getMethod(method).invoke(owner)

  /** The format knows the table's column mapping; Delta removes it from the schema of the scan. */
  private def columnMapping(scan: FileSourceScanExec): Option[String] =
    Try(valueOf(valueOf(scan.relation.fileFormat, "columnMappingMode"), "name")).toOption.collect { case mode: String => mode }
}
