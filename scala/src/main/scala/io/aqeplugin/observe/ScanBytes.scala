package io.aqeplugin.observe

import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.types.DataType

/** Estimated bytes that the scans of a plan read. The joins of a plan ask for parts of one another, so what was found of a node is kept. */
private[observe] final class ScanBytes(tables: TableStatistics) {
  private val ofNeeded = ByIdentity.empty[SparkPlan, Double]
  private val ofWidest = ByIdentity.empty[SparkPlan, Double]

  /** Bytes of the needed columns in the files that the scans below `plan` read. */
  def needed(plan: SparkPlan): Double = ofNeeded.getOrElseUpdate(
    plan,
    plan match {
      case scan: FileSourceScanExec =>
        ofFiles(scan).getOrElse(SizeEstimator.UnknownBytes) *
          shareOf(scan.requiredSchema.map(_.dataType), scan.relation.dataSchema.map(_.dataType))
      case batch: BatchScanExec =>
        val share = shareOf(batch.output.map(_.dataType), batch.table.columns.toSeq.map(_.dataType))
        ofFiles(batch).map(_ * share).orElse(LeafStatistics.of(batch).flatMap(_.bytes)).getOrElse(SizeEstimator.UnknownBytes)
      case StartedFilters(_, scan) => needed(scan)
      case other                   => other.children.map(needed).sum
    }
  )

  /** Bytes of the files of the widest scan below `plan`, also of columns that it does not need: by these Spark splits it into tasks. */
  def widest(plan: SparkPlan): Double = ofWidest.getOrElseUpdate(
    plan,
    plan match {
      case scan: FileSourceScanExec => ofFiles(scan).getOrElse(SizeEstimator.UnknownBytes)
      case batch: BatchScanExec     => ofFiles(batch).getOrElse(needed(batch))
      case StartedFilters(_, scan)  => widest(scan)
      case other                    => other.children.map(widest).maxOption.getOrElse(0.0)
    }
  )

  /** Of the files that a scan has selected. */
  def ofFiles(scan: FileSourceScanExec): Option[Double] =
    tables.bytesRead(scan).orElse(tables.of(scan).flatMap(_.bytes)).map(_.toDouble).filter(LeafStatistics.isBelievable)

  /** Of the files that a scan reads, by its rows of the table's. */
  private def ofFiles(scan: BatchScanExec): Option[Double] = for {
    facts <- tables.of(scan)
    (bytes, all) <- facts.bytes.zip(facts.rows.map(_.rows).filter(_ > 0))
    rows <- LeafStatistics.of(scan).flatMap(_.rowCount)
  } yield bytes * math.min(1.0, rows / all)

  /** The share of a table's bytes that some of its columns have. */
  private def shareOf(columns: Seq[DataType], all: Seq[DataType]): Double =
    math.min(1.0, columns.map(_.defaultSize.toDouble).sum / math.max(1.0, all.map(_.defaultSize.toDouble).sum))
}
