package io.aqeplugin.limit

import org.apache.hadoop.fs.Path
import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.{FileIndex, FileStatusWithMetadata, PartitionDirectory}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetUtils}
import org.apache.spark.sql.types.StructType

import io.aqeplugin.decide.{Reason, ReasonCode}
import io.aqeplugin.observe.Conjuncts
import io.aqeplugin.storage.{DeltaScan, FileColumn, FileFooters}

/** Some files of a table, for a scan that has to read only these. EXPLAIN shows the name of the class as the scan's location.
  *
  * @param all
  *   all files of the table
  * @param partitions
  *   the files by partition; the scan's partition filters were applied before
  */
final case class ChosenFiles(all: FileIndex, partitions: Seq[PartitionDirectory]) extends FileIndex {
  override def rootPaths: Seq[Path] = all.rootPaths
  override def partitionSchema: StructType = all.partitionSchema
  override def listFiles(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): Seq[PartitionDirectory] = partitions
  override def inputFiles: Array[String] = partitions.flatMap(_.files.map(_.getPath.toString)).toArray
  override def sizeInBytes: Long = partitions.flatMap(_.files.map(_.getLen)).sum

  // The files were chosen for one plan.
  override def refresh(): Unit = ()
}

object ChosenFiles {

  /** `plan` with scans that choose among all files of their tables again. */
  def widened(plan: SparkPlan): SparkPlan = plan.transform { case scan: FileSourceScanExec =>
    scan.relation.location match {
      case chosen: ChosenFiles => ThisSparkLine.withRelation(scan, scan.relation.copy(location = chosen.all)(scan.relation.sparkSession))
      case _                   => scan
    }
  }
}

/** The files that a scan reads after its partition filters, in the order of the listing. */
final class ScanFiles private (val scan: FileSourceScanExec, partitions: IndexedSeq[PartitionDirectory]) {

  /** Each file with the position of its partition. */
  private val listed: IndexedSeq[(FileStatusWithMetadata, Int)] =
    partitions.indices.flatMap(p => partitions(p).files.map(_ -> p))

  val files: IndexedSeq[FileStatusWithMetadata] = listed.map(_._1)
  def paths: Seq[Path] = files.map(_.getPath)
  def bytes: Long = files.map(_.getLen).sum

  /** The footers of the scan's files. Those of an earlier query are not used: a file may have been written anew, and a listing that Spark
    * keeps does not show it.
    */
  val footers: FileFooters = FileFooters.of(isParquet = scan.relation.fileFormat.isInstanceOf[ParquetFileFormat])

  /** A column of the scan in its files; none for a partition column, one that is read by its field id, and one that is not the scan's. */
  def dataColumn(column: AttributeReference): Option[FileColumn] =
    Option.when(scan.outputSet.contains(column) && scan.requiredSchema.exists(field =>
      field.name == column.name && field.dataType == column.dataType
    ) &&
      !(scan.conf.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(scan.requiredSchema)))(FileColumn(column.name, column.dataType))

  /** The value of a partition column for a file; none for any other column. */
  def partitionValue(column: AttributeReference, file: Int): Option[Any] = {
    val schema = scan.relation.partitionSchema
    val at = schema.indexWhere(field => field.name == column.name && field.dataType == column.dataType)
    Option.when(at >= 0 && scan.outputSet.contains(column) && !scan.requiredSchema.exists(_.name == column.name)) {
      partitions(listed(file)._2).values.get(at, schema(at).dataType)
    }
  }

  /** The position of a file's partition: files of one partition have the same partition values. */
  def partitionOf(file: Int): Int = listed(file)._2

  /** The same scan of these files only, with further conditions that its reader may use to skip rows. */
  def reading(chosen: Seq[Int], conditions: Seq[Expression] = Nil): FileSourceScanExec = narrowed(scan, chosen, conditions)

  /** A later form of the same scan, of these files only. */
  def narrowed(scan: FileSourceScanExec, chosen: Seq[Int], conditions: Seq[Expression]): FileSourceScanExec = {
    val kept = chosen.sorted.groupBy(partitionOf).toSeq.sortBy(_._1).map { case (p, inside) =>
      partitions(p).copy(files = inside.map(files))
    }
    val relation = scan.relation.copy(location = ChosenFiles(this.scan.relation.location, kept))(scan.relation.sparkSession)
    val reading = ThisSparkLine.withDataFilters(ThisSparkLine.withRelation(scan, relation), conditions)
    // A copy of a leaf has no tags, and AQE finds the logical node of a stage by its link.
    scan.logicalLink.foreach(reading.setLogicalLink)
    reading
  }
}

object ScanFiles {

  /** The files of a scan, or the reason why the scan cannot read a part of them. */
  def of(scan: FileSourceScanExec): Either[Reason, ScanFiles] = {
    val format = scan.relation.fileFormat.getClass
    val isDelta = DeltaScan.isOne(scan)
    val isKnown = format == classOf[ParquetFileFormat] || format == classOf[OrcFileFormat] || isDelta
    val isOwn = !scan.relation.location.isInstanceOf[ChosenFiles]
    val isPlain = scan.stream.isEmpty && !scan.bucketedScan && scan.optionalBucketSet.isEmpty
    if (!isKnown || !isOwn || !isPlain || scan.partitionFilters.exists(Conjuncts.isKnownLater)) Left(Reason(ReasonCode.LimitSource))
    else {
      val listed = scan.selectedPartitions.filePartitionIterator.map(p => PartitionDirectory(p.values, p.files.toVector)).toVector
      val isOfFiles = !isDelta || !DeltaScan.differsFromFiles(scan, listed)
      Either.cond(isOfFiles, new ScanFiles(scan, listed), Reason(ReasonCode.LimitSource))
    }
  }
}
