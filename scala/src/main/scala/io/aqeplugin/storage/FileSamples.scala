package io.aqeplugin.storage

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.decide.{KeylessFiles, ValueRange}
import io.aqeplugin.exec.{ColumnKeys, DataFiles}
import io.aqeplugin.metrics.Survivable
import io.aqeplugin.observe.{BuildKeys, ProbeFiles}

/** A file of a table, and the smallest and largest values that it has of columns.
  *
  * @param path
  *   as its table has it
  * @param texts
  *   cut to their beginnings ([[TextBounds.beginning]])
  */
private[storage] final case class FileRanges(
    path: String,
    bytes: Long,
    ranges: Map[String, (Long, Long)],
    texts: Map[String, (UTF8String, UTF8String)]
)

/** What share of a scan's files holds no key, by the few whose bounds are read for its estimate: footers of [[FooterStatistics]], manifests of
  * [[IcebergBounds]]. Nothing else is read, and no caller waits. Only for prices: which files are left out is found by all bounds.
  */
object FileSamples {

  /** None if keys of this type leave out no files of this kind of scan. Nothing is known of a scan that selects partitions of a table without a log.
    *
    * @param all
    *   what the scan reads
    */
  def of(scan: SparkPlan, keys: Seq[Expression], all: => DataFiles): Option[ProbeFiles] = (scan, keys) match {
    case (file: FileSourceScanExec, Seq(key: Attribute)) => ofFooters(file, key, all)
    // What partitions leave out is counted already.
    case (batch: BatchScanExec, Seq(key: Attribute)) if batch.ordering.isEmpty && !BatchScanKeys.filters(batch, key) =>
      ofManifests(batch, key, all)
    case _ => None
  }

  private def ofFooters(scan: FileSourceScanExec, key: Attribute, all: => DataFiles): Option[ProbeFiles] = {
    val isOfDelta = DeltaKeys.usesBounds(scan, key)
    val isUsed = isOfDelta || SelectedFiles.conditions(scan).isEmpty && (ParquetKeys.usesBounds(scan, key) || OrcKeys.usesBounds(scan, key))
    val read = readBy(scan.dataFilters)
    // Readers of files open each of them, to look at its statistics.
    def spared = if (isOfDelta) all else all.copy(count = 0)
    FooterStatistics.groups(scan).filter(_ => isUsed).map(groups =>
      new FileSamples(key, comparesEach = isOfDelta)(groups.now.map(found => read(found.files)).filter(isEnough).map(_ -> spared))
    )
  }

  /** Those of some files in which a row may fulfil the conditions. */
  private def readBy(conditions: Seq[Expression]): Seq[FileRanges] => Seq[FileRanges] = {
    val truths = ConditionRanges.truths(conditions)
    _.filter(file => truths(column => file.ranges.get(column.name).map(range => ValueRange(Some(range), mayBeNull = true))).canBeTrue)
  }

  /** Whether each of several files of a table of Delta or Iceberg may hold a key, so that to look at all of them promises nothing. */
  private[storage] def showAll(scan: SparkPlan, keys: KnownKeys): Boolean = {
    val files = scan match {
      case file: FileSourceScanExec =>
        FooterStatistics.groups(file).flatMap(_.now).fold(Seq.empty[FileRanges])(found => readBy(file.dataFilters)(found.files))
      case batch: BatchScanExec => KnownTables.tableOf(batch).flatMap(IcebergBounds.sample(_, batch.scan)).getOrElse(Nil)
      case _                    => Nil
    }
    lazy val meets = meeting(keys.column, keys.built, comparesEach = true)
    lazy val begun = keys.built.texts.filter(_.forall(TextBounds.isAscii)).getOrElse(Nil).map(text => TextBounds.beginning(text.getBytes))
    // Texts that begin alike may be different, so that a bound is no key.
    def mayHold(file: FileRanges): Boolean =
      if (keys.column.dataType != StringType) meets(file).contains(true)
      else
        file.texts.get(keys.column.name).exists { case (low, high) =>
          begun.exists(text => text.compareTo(low) > 0 && text.compareTo(high) < 0)
        }
    isEnough(files) && files.forall(mayHold)
  }

  /** Fewer files show nothing of the others. */
  private val Several = 8
  private def isEnough(files: Seq[FileRanges]): Boolean = files.size >= Several

  /** Keys that bounds are compared with; texts only of ASCII, which each format orders as Spark does. */
  private def comparable(keys: BuildKeys): Option[ColumnKeys] = keys.values.map(ColumnKeys.ofValues(_, None))
    .orElse(keys.texts.filter(_.forall(TextBounds.isAscii)).map(texts => ColumnKeys(Nil, None, texts = Some(texts))))

  /** Whether a file may hold a key, by its bounds; none if it has none. */
  private def meeting(column: Attribute, keys: ColumnKeys, comparesEach: Boolean): FileRanges => Option[Boolean] = {
    def of[A: Ordering](values: Option[Seq[A]], ranges: => Seq[(A, A)])(known: FileRanges => Map[String, (A, A)]) = {
      val meets = KeyMeeting.of(values.filter(_ => comparesEach).fold(ranges)(_.map(one => (one, one))).toIndexedSeq)
      (file: FileRanges) => known(file).get(column.name).map { case (low, high) => meets(Some(low), Some(high)) }
    }
    def begun(text: UTF8String) = TextBounds.beginning(text.getBytes)
    if (column.dataType == StringType)
      of(keys.texts.map(_.map(begun).distinct.sorted), keys.textRanges.map(range => (begun(range._1), begun(range._2))))(_.texts)
    else of(keys.values, keys.ranges)(_.ranges)
  }

  private def ofManifests(scan: BatchScanExec, key: Attribute, all: => DataFiles): Option[ProbeFiles] =
    for {
      read <- IcebergRead.of(scan.scan)
      table <- KnownTables.tableOf(scan)
    } yield {
      lazy val files = read.files.keySet
      def isUsed = read.field(key.name).map(IcebergColumns.typeOf)
        .exists(found => IcebergWholes.of(found, key.dataType).isDefined || found == "string" && key.dataType == StringType)
      new FileSamples(key, comparesEach = true)(
        try
          for {
            sample <- IcebergBounds.sample(table, scan.scan) if isUsed
            ofScan = sample.filter(file => files(file.path)) if isEnough(ofScan) || ofScan.size == files.size
          } yield (ofScan, all)
        catch {
          case Survivable(error) =>
            FooterStatistics.noteUnreadable(Seq(scan.table.name), "its files without a key have no price", error)
            None
        }
      )
    }
}

/** @param known
  *   some files, the bytes that the scan reads, and how many files it opens that it need not; none while bounds are being read
  * @param comparesEach
  *   whether each key is compared with the bounds, or few ranges of them
  */
private final class FileSamples(key: Attribute, comparesEach: Boolean)(known: => Option[(Seq[FileRanges], DataFiles)]) extends ProbeFiles {
  override def without(build: => Option[BuildKeys]): Option[KeylessFiles] = for {
    (sample, all) <- known
    keys <- build.flatMap(FileSamples.comparable)
    meets = FileSamples.meeting(key, keys, comparesEach)
    without = sample.filter(meets(_).contains(false))
    // As if one file more had been looked at that holds a key: a few without one do not show that there is none.
    share = without.map(_.bytes).sum.toDouble / math.max(1L, sample.map(_.bytes).sum) * sample.size / (sample.size + 1) if share > 0
  } yield KeylessFiles((share * all.bytes).toLong, share, all.count * without.size / (sample.size + 1))
}
