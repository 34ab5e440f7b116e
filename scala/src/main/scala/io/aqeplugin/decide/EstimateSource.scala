package io.aqeplugin.decide

import io.aqeplugin.conf.{DefinedNames, Named}

/** What a number of rows was taken from before the operator ran that would have counted them, the surest first. */
final class EstimateSource private (val name: String, val meaning: String) extends Named with Serializable {
  private def readResolve(): AnyRef = EstimateSource.fromName(name).getOrElse(this)
  override def toString: String = name
}

object EstimateSource extends DefinedNames[EstimateSource] {
  val Measured = source("measured", "a finished stage")
  val DeltaLog = source("delta_log", "the row counts in the log of a Delta table")
  val IcebergSnapshot = source("iceberg_snapshot", "the row counts of an Iceberg snapshot")
  val Footers = source("footers", "the row counts in file footers; of a large table, in a few of them")
  val Catalog = source("catalog", "the row count that `ANALYZE TABLE` left in the catalog")
  val ScanOutput = source("scan_output", "the rows that came out of a scan of all files")
  val SelectedFiles = source("selected_files", "the bytes of the selected partitions and files, of those of the table")
  val ScaledOutput = source("scaled_scan_output", "the rows that came out of a scan of some files, by the bytes of these and of all files")
  val ColumnStatistics = source("column_statistics", "the column statistics in the catalog, by Spark's estimate of a filter")
  val ColumnRange = source("column_range", "the smallest and largest value of a column in the footers")
  val SparkPlan = source("spark_plan", "Spark's own estimate of the size of a source")
  val FileBytes = source("file_bytes", "the bytes of the files, and the width of their columns")
  val Assumed = source("assumed", "a fixed share of the rows, `wait.keptPerPredicate`")

  /** Those that may be several times off. */
  val Guesses: Set[EstimateSource] = Set(SparkPlan, FileBytes, Assumed)

  private val rank: Map[EstimateSource, Int] = All.zipWithIndex.toMap

  /** The source that says how sure a number is that was made of several. */
  def leastSure(first: EstimateSource, others: EstimateSource*): EstimateSource = (first +: others).maxBy(rank)

  private def source(name: String, meaning: String): EstimateSource = define(new EstimateSource(name, meaning))
}

/** A number of rows, and what it was taken from. */
final case class RowEstimate(rows: Long, source: EstimateSource)
