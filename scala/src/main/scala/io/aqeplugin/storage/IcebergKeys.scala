package io.aqeplugin.storage

import java.nio.ByteBuffer
import java.security.MessageDigest

import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.decide.Reason
import io.aqeplugin.exec.{ColumnKeys, DataFiles, LeftOut, UnreadFiles}
import io.aqeplugin.metrics.Survivable
import io.aqeplugin.observe.TableStatistics

/** Iceberg tables: the files of the same snapshot are planned again with the keys, and a scan of those that may hold one takes the place of
  * the first in this one node of the plan.
  *
  * Files are compared here, with every key and by the id of the column. Manifests, and row groups when they are read, Iceberg leaves out by
  * conditions on numbers, dates and times: it finds columns by their names, compares no more than [[IcebergKeys.MostListed]] keys of a list,
  * and the texts of a row group otherwise than Spark.
  */
private[storage] object IcebergKeys extends KeyedFormat {

  /** Iceberg takes a list of more for one that every file fulfils. */
  val MostListed = 200

  override def narrowed(scan: SparkPlan, keys: KnownKeys, tables: TableStatistics): Option[SparkPlan] = scan match {
    case batch: BatchScanExec if batch.ordering.isEmpty && !keys.built.isEmpty =>
      try
        for (read <- IcebergRead.of(batch.scan); plan <- planned(batch, read, keys, tables)) yield {
          // A scan of its own for each node of a plan: Spark's runtime filters change it.
          val fresh = KeyedFormat.linked(batch, ThisSparkLine.withSource(batch, read.reading(plan.by, plan.tasks, plan.told)))
          // Of more keys, Iceberg compares the values of partitions one by one only at run time.
          val asked = Option.when(keys.literals.exists(_.size > MostListed))(BatchScanKeys.asked(fresh, keys)).flatten.getOrElse(fresh)
          LeftOut.counted(batch, asked, Some(_ => Some(plan.leftOut)))
        }
      catch {
        case Survivable(error) =>
          FooterStatistics.noteUnreadable(Seq(batch.table.name), "no files are left out by keys", error)
          None
      }
    case _ => None
  }

  override def whyNothing(scan: SparkPlan, keys: KnownKeys): Option[Reason] = scan match {
    case batch: BatchScanExec => IcebergRead.whyWhole(batch.scan).map(Reason(_))
    case _                    => None
  }

  /** The files of a scan that may hold keys.
    *
    * @param by
    *   Iceberg's own scan that found them
    * @param told
    *   a condition that stands for the keys
    */
  private final case class Planned(by: AnyRef, tasks: Seq[AnyRef], told: AnyRef, leftOut: UnreadFiles)

  /** By conditions, column and keys. */
  private val earlier = new PerRelation[(String, String, ColumnKeys), Planned]("icebergFiles")

  private def planned(batch: BatchScanExec, read: IcebergRead, keys: KnownKeys, tables: TableStatistics): Option[Planned] =
    earlier.of(batch, keys.column, (read.conditions, keys.column.name, keys.built))(plannedAnew(batch, read, keys, tables))

  private def plannedAnew(batch: BatchScanExec, read: IcebergRead, keys: KnownKeys, tables: TableStatistics): Option[Planned] =
    for {
      field <- read.field(keys.column.name)
      pays = !keys.areTexts && paysInFiles(batch, keys, tables) if pays || !FileSamples.showAll(batch, keys)
      before = read.files
      search <- if (keys.areTexts) ofTexts(read, field, keys) else ofWholes(read, field, keys, before.size, pays)
      // Iceberg leaves out files of equality deletes too, so that deleted rows would be there for the operators above.
      pushed = search.pushed.filter(_ => read.hasNoEqualityDeletes)
      (by, tasks) <- read.again(field, pushed)(task => search.mayHold(task) && before.contains(read.fileOf(task)))
      if tasks.size < before.size || pushed.isDefined
    } yield {
      val left = before -- tasks.map(read.fileOf)
      Planned(by, tasks, search.told, UnreadFiles(DataFiles(left.size.toLong, left.values.sum), before.size.toLong))
    }

  /** Whether row groups and manifests are likely to lack all keys. */
  private def paysInFiles(batch: BatchScanExec, keys: KnownKeys, tables: TableStatistics): Boolean =
    keys.built.values.exists(ParquetKeys.areAlwaysListed(keys, _)) || ParquetKeys.leavesOutEnough(batch, keys, tables)

  /** How files with keys are found.
    *
    * @param pushed
    *   Iceberg's condition for manifests and row groups
    * @param told
    *   one that stands for all keys
    */
  private final case class Search(mayHold: AnyRef => Boolean, pushed: Option[AnyRef], told: AnyRef)

  private def ofTexts(read: IcebergRead, field: AnyRef, keys: KnownKeys): Option[Search] =
    for {
      _ <- Option.when(IcebergColumns.typeOf(field) == "string")(())
      // All of them are UTF-8.
      values <- keys.literals
      texts = values.map(_.value).collect { case text: UTF8String => text }
      on = read.conditionsOn(field)
      listed = Option.when(texts.size <= MostListed)(on.isIn(texts.map(_.toString)))
    } yield {
      val told =
        listed.getOrElse(on.isThere(digest(texts.flatMap(text => Seq(bytesOf(text.numBytes.toLong), text.getBytes))).array.mkString(" ")))
      Search(read.testOf(field).ofTexts(texts), None, told)
    }

  private def ofWholes(read: IcebergRead, field: AnyRef, keys: KnownKeys, files: Int, pays: Boolean): Option[Search] =
    for {
      kind <- IcebergWholes.of(IcebergColumns.typeOf(field), keys.column.dataType)
      // Fewer keys than files leave out some if they lie close enough.
      if keys.built.ranges.nonEmpty && (pays || keys.built.values.exists(_.size < files))
    } yield {
      val on = read.conditionsOn(field)
      val all = keys.built.values.map(values => if (kind.areTimes) values ++ values.flatMap(ImportedMillis.ofKey) else values)
      val listed = all.filter(_.size <= MostListed).map(_.flatMap(kind.value)).filter(_.nonEmpty).map(on.isIn)
      val pushed = Option.when(pays && read.isNamedAlike(field) && !IcebergColumns.hasDefault(field))(listed.orElse(inRanges(
        on,
        read.asOfPartitions(field, kind),
        keys.built.ranges
      ))).flatten
      def known = keys.built.values.getOrElse(keys.built.ranges.flatMap { case (low, high) => Seq(low, high) })
      val told = listed.getOrElse {
        val token = digest(known.map(bytesOf))
        on.and(on.isThere(Integer.valueOf(token.getInt)), on.isThere(Integer.valueOf(token.getInt)))
      }
      Search(read.testOf(field).ofWholes(kind, keys.built), pushed, told)
    }

  /** Different for different keys, which scans are told apart by. */
  private def digest(keys: Seq[Array[Byte]]): ByteBuffer = {
    val made = MessageDigest.getInstance("SHA-256")
    keys.foreach(made.update)
    ByteBuffer.wrap(made.digest())
  }

  private def bytesOf(number: Long): Array[Byte] = ByteBuffer.allocate(java.lang.Long.BYTES).putLong(number).array

  private def inRanges(on: IcebergConditions, kind: IcebergWholes, ranges: Seq[(Long, Long)]): Option[AnyRef] = {
    val all = if (kind.areTimes) ranges ++ ranges.flatMap(ImportedMillis.ofRange) else ranges
    val each = all.map { case (low, high) =>
      val (from, upTo) = (kind.least(low).map(on.isAtLeast), kind.greatest(high).map(on.isAtMost))
      if (kind.mayOverflow && (from.isEmpty || upTo.isEmpty)) None else (from ++ upTo).reduceOption(on.and)
    }
    if (each.forall(_.isDefined)) each.flatten.reduceOption(on.or) else None
  }
}
