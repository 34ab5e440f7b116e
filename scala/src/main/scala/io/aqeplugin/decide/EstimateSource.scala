package io.aqeplugin.decide

import io.aqeplugin.conf.{Named, Names}

/** What a number of rows was taken from before the operator ran that would have counted them. */
sealed abstract class EstimateSource(val name: String, val meaning: String) extends Product with Serializable with Named

object EstimateSource extends Names[EstimateSource] {
  case object Measured extends EstimateSource("measured", "a finished stage")
  case object DeltaLog extends EstimateSource("delta_log", "the row counts in the log of a Delta table")
  case object IcebergSnapshot extends EstimateSource("iceberg_snapshot", "the row counts of an Iceberg snapshot")
  case object Footers extends EstimateSource("footers", "the row counts in file footers; of a large table, in a few of them")
  case object Catalog extends EstimateSource("catalog", "the row count that `ANALYZE TABLE` left in the catalog")
  case object ScanOutput extends EstimateSource("scan_output", "the rows that came out of a scan of all files")
  case object SelectedFiles
      extends EstimateSource("selected_files", "the bytes of the selected partitions and files, of those of the table")
  case object ScaledOutput
      extends EstimateSource("scaled_scan_output", "the rows that came out of a scan of some files, by the bytes of these and of all files")
  case object ColumnStatistics
      extends EstimateSource("column_statistics", "the column statistics in the catalog, by Spark's estimate of a filter")
  case object ColumnRange extends EstimateSource("column_range", "the smallest and largest value of a column in the footers")
  case object SparkPlan extends EstimateSource("spark_plan", "Spark's own estimate of the size of a source")
  case object FileBytes extends EstimateSource("file_bytes", "the bytes of the files, and the width of their columns")
  case object Assumed extends EstimateSource("assumed", "a fixed share of the rows, `wait.keptPerPredicate`")

  /** The surest first. */
  val All: Seq[EstimateSource] = Seq(
    Measured,
    DeltaLog,
    IcebergSnapshot,
    Footers,
    Catalog,
    ScanOutput,
    SelectedFiles,
    ScaledOutput,
    ColumnStatistics,
    ColumnRange,
    SparkPlan,
    FileBytes,
    Assumed
  )

  private val rank: Map[EstimateSource, Int] = All.zipWithIndex.toMap

  /** The source that says how sure a number is that was made of several. */
  def leastSure(first: EstimateSource, others: EstimateSource*): EstimateSource = (first +: others).maxBy(rank)
}

/** A number of rows, and what it was taken from. */
final case class RowEstimate(rows: Long, source: EstimateSource)
