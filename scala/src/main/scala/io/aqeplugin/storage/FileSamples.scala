package io.aqeplugin.storage

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.types.DataType

import io.aqeplugin.decide.{KeylessFiles, ValueRange}
import io.aqeplugin.exec.ColumnKeys
import io.aqeplugin.metrics.Survivable
import io.aqeplugin.observe.ProbeFiles

/** A file of a table, and the smallest and largest values that it has of columns.
  *
  * @param path
  *   as its table has it
  */
private[storage] final case class FileRanges(path: String, bytes: Long, ranges: Map[String, (Long, Long)])

/** What share of a scan's files holds no key, by the few whose bounds are read for its estimate: footers of [[FooterStatistics]], manifests of
  * [[IcebergBounds]]. Nothing else is read, and no caller waits. Only for prices: which files are left out is found by all bounds.
  */
object FileSamples {

  /** None if keys of this type leave out no files of this kind of scan. Nothing is known of a scan that selects partitions of a table without a log.
    *
    * @param scanBytes
    *   what a scan of files reads
    */
  def of(scan: SparkPlan, keys: Seq[Expression], scanBytes: => Double): Option[ProbeFiles] = (scan, keys) match {
    case (file: FileSourceScanExec, Seq(key: Attribute)) => ofFooters(file, key, scanBytes)
    // What partitions leave out is counted already.
    case (batch: BatchScanExec, Seq(key: Attribute)) if batch.ordering.isEmpty && !BatchScanKeys.filters(batch, key) =>
      Some(ofManifests(batch, key))
    case _ => None
  }

  private def ofFooters(scan: FileSourceScanExec, key: Attribute, bytes: Double): Option[ProbeFiles] = {
    val isOfDelta = DeltaKeys.usesBounds(scan, key)
    val isUsed = isOfDelta || SelectedFiles.conditions(scan).isEmpty && (ParquetKeys.usesBounds(scan, key) || OrcKeys.usesBounds(scan, key))
    val read = readBy(scan.dataFilters)
    FooterStatistics.groups(scan).filter(_ => isUsed).map { groups => values =>
      // Delta's bounds are compared with each key, and the footers of other files with few ranges.
      groups.now.map(found => read(found.files)).filter(isEnough).flatMap(keyless(
        _,
        key,
        ColumnKeys.ofValues(values, None),
        isOfDelta,
        bytes
      ))
    }
  }

  /** Those of some files in which a row may fulfil the conditions. */
  private def readBy(conditions: Seq[Expression]): Seq[FileRanges] => Seq[FileRanges] = {
    val truths = ConditionRanges.truths(conditions)
    _.filter(file => truths(column => file.ranges.get(column.name).map(range => ValueRange(Some(range), mayBeNull = true))).canBeTrue)
  }

  /** Whether each of several files of a Delta table may hold a key, so that to look at all of them promises nothing. */
  private[storage] def showAll(scan: FileSourceScanExec, keys: KnownKeys): Boolean = {
    val files = FooterStatistics.groups(scan).flatMap(_.now).fold(Seq.empty[FileRanges])(found => readBy(scan.dataFilters)(found.files))
    val known = files.flatMap(_.ranges.get(keys.column.name))
    known.size == files.size && isEnough(files) && known.forall(isMet(keys.built, comparesEach = true))
  }

  /** Fewer files show nothing of the others. */
  private val Several = 8
  private def isEnough(files: Seq[FileRanges]): Boolean = files.size >= Several

  private def isMet(keys: ColumnKeys, comparesEach: Boolean): ((Long, Long)) => Boolean = {
    val meets = KeyMeeting.of((if (comparesEach) keys.values.fold(keys.ranges)(_.map(one => (one, one))) else keys.ranges).toIndexedSeq)
    range => meets(Some(range._1), Some(range._2))
  }

  private def ofManifests(scan: BatchScanExec, key: Attribute): ProbeFiles = values =>
    try
      for {
        read <- IcebergRead.of(scan.scan)
        field <- read.field(key.name) if IcebergWholes.of(IcebergColumns.typeOf(field), key.dataType).isDefined
        table <- KnownTables.tableOf(scan)
        sample <- IcebergBounds.sample(table, scan.scan)
        files = read.files
        ofScan = sample.filter(file => files.contains(file.path)) if isEnough(ofScan) || ofScan.size == files.size
        bytes = files.values.sum * math.min(1.0, width(scan.output.map(_.dataType)) / width(table.columns.toSeq.map(_.dataType)))
        found <-
          keyless(ofScan, key, ColumnKeys.ofValues(values, None), comparesEach = true, bytes)
      } yield found
    catch {
      case Survivable(error) =>
        FooterStatistics.noteUnreadable(Seq(scan.table.name), "its files without a key have no price", error)
        None
    }

  private def width(types: Seq[DataType]): Double = math.max(1.0, types.map(_.defaultSize.toDouble).sum)

  private def keyless(
      sample: Seq[FileRanges],
      key: Attribute,
      keys: ColumnKeys,
      comparesEach: Boolean,
      bytes: Double
  ): Option[KeylessFiles] = {
    val meets = isMet(keys, comparesEach)
    val without = sample.filter(_.ranges.get(key.name).exists(!meets(_)))
    // As if one file more had been looked at that holds a key: a few without one do not show that there is none.
    val share = without.map(_.bytes).sum.toDouble / math.max(1L, sample.map(_.bytes).sum) * sample.size / (sample.size + 1)
    Option.when(share > 0)(KeylessFiles((share * bytes).toLong, share))
  }
}
