package io.aqeplugin.limit

import java.util.concurrent.TimeUnit

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression, Literal}

import io.aqeplugin.decide._
import io.aqeplugin.storage.{ConditionRanges, FileColumn, FooterFacts, FooterStatistics}

/** Reads footers of a scan's files until a limit can be decided, and not beyond.
  *
  * @param conditions
  *   the filters between the scan and the limit, on the scan's columns
  * @param maxFooters
  *   footers to read at most
  * @param deadlineNanos
  *   until when footers are waited for, as `System.nanoTime`
  */
final class FooterSearch(scanned: ScanFiles, conditions: Seq[Expression], maxFooters: Int, deadlineNanos: Long) {
  import FooterSearch.{Batch, FilteredRows, MaxShare, Sample}

  private val startNanos = System.nanoTime()
  private val files = scanned.files
  private val footers = scanned.footers
  private lazy val conf = scanned.scan.relation.sparkSession.sessionState.newHadoopConfWithOptions(scanned.scan.relation.options)

  private val attributes: Map[Attribute, FileColumn] = ConditionRanges.columns(conditions).flatMap {
    case column: AttributeReference => scanned.dataColumn(column).map((column: Attribute) -> _)
    case _                          => None
  }.toMap

  /** The conditions with the values of a partition's columns, once per partition. */
  private val inPartition = scala.collection.mutable.HashMap.empty[Int, ConditionRanges.Ranges => Truths]

  private def conditionsOf(file: Int): ConditionRanges.Ranges => Truths = inPartition.getOrElseUpdate(
    scanned.partitionOf(file),
    ConditionRanges.truths(conditions.map(_.transform {
      case column: AttributeReference if scanned.partitionValue(column, file).isDefined =>
        Literal(scanned.partitionValue(column, file).orNull, column.dataType)
    }))
  )

  /** What is known of a file without its footer: for all files of a partition the same. */
  private val withoutFooter = scala.collection.mutable.HashMap.empty[Int, Proof]

  private def known(file: Int, columns: Seq[FileColumn]): Option[FooterFacts] = footers.get(files(file).fileStatus, columns)

  private def factsOf(file: Int): FileFacts = {
    val footer = known(file, attributes.values.toSeq)
    FileFacts(footer.map(_.rows), files(file).getLen, proofOf(file, footer))
  }

  private def proofOf(file: Int, footer: Option[FooterFacts]): Proof =
    if (conditions.isEmpty) Proof.AllMatch
    else
      footer.fold(withoutFooter.getOrElseUpdate(scanned.partitionOf(file), Proof.of(conditionsOf(file)(_ => None)))) { facts =>
        Proof.of(conditionsOf(file)(column =>
          for (named <- attributes.get(column); found <- facts.columns.get(named).flatten)
            yield ValueRange(found.range, mayBeNull = !found.nulls.contains(0L))
        ))
      }

  /** The number of files whose row count is known. */
  def footersKnown: Int = files.indices.count(known(_, Nil).isDefined)

  def waitedMillis: Long = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos)

  /** The files for a limit of `rowsWanted` rows without a sort. */
  def fewest(rowsWanted: Long): FileChoice = {
    val largestFirst = files.indices.sortBy(i => (-files(i).getLen, i))
    val mayProve = conditions.isEmpty || attributes.nonEmpty
    val sample = if (conditions.isEmpty) largestFirst.take(1) else FooterStatistics.spread(files.size, Sample)

    @tailrec def search(next: Seq[Int], tried: Set[Int], before: IndexedSeq[FileFacts]): FileChoice = {
      load(next, attributes.values.toSeq)
      val now = next.foldLeft(before)((facts, i) => facts.updated(i, factsOf(i)))
      val choice = FileChoice.of(now, rowsWanted)
      val proves = now.exists(file => file.rows.isDefined && file.proof != Proof.Unknown)
      val isHopeless = !proves && (conditions.nonEmpty || tried.size >= Sample)
      val batch =
        if (choice.provenRows > 0) filesFor(rowsWanted - choice.provenRows, choice)
        else if (tried.size < Sample) Sample
        else Batch
      val open = largestFirst.filter(i => !tried(i) && now(i).rows.isEmpty && now(i).proof != Proof.NoneMatch)
      val further = open.take(math.min(batch, maxFooters - tried.size))
      if (choice.isEnough || isHopeless || further.isEmpty || isLate) choice else search(further, tried ++ further, now)
    }
    val first = if (mayProve && files.size > 1) sample.take(maxFooters) else Nil
    search(first, first.toSet, files.indices.map(factsOf))
  }

  /** The files for the first `rowsWanted` rows in the order of `key`, or why a sample of the footers says that the others are not worth
    * their time.
    */
  def top(key: AttributeReference, rowsWanted: Long, order: TopOrder): Either[ReasonCode, TopSearch] = {
    val column = scanned.dataColumn(key)
    val columns = attributes.values.toSeq ++ column

    def keyed(file: Int, countsAll: Boolean = false): Option[KeyedFile] = known(file, columns).flatMap { footer =>
      val rows = if (countsAll || proofOf(file, Some(footer)) == Proof.AllMatch) footer.rows else 0L
      column match {
        case Some(named) => footer.columns.get(named).flatten.map(found => KeyedFile(rows, found.range, found.nulls))
        case None        =>
          val value = scanned.partitionValue(key, file).flatMap(ConditionRanges.constantRange)
          value.map(found => KeyedFile(rows, found.range, Some(if (found.mayBeNull) rows else 0L)))
      }
    }

    val sample = FooterStatistics.spread(files.size, Sample).take(maxFooters)
    load(sample, columns)
    val matching = sample.filter(file => proofOf(file, known(file, columns)) != Proof.NoneMatch)
    val rowsRead = rowsWanted.toDouble * (if (matching.forall(keyed(_).exists(_.rows > 0))) 1 else FilteredRows)
    val sampled = matching.map(keyed(_, countsAll = true))
    val isSpread = TopFiles.expected(sampled, files.size.toDouble / sample.size.max(1), rowsRead, order) > MaxShare * sample.size
    if (sample.isEmpty || (matching.nonEmpty && sampled.flatten.isEmpty)) Left(ReasonCode.RowsNotProven)
    else if (isSpread && files.size > sample.size) Left(ReasonCode.RangesOverlap)
    else {
      val others = files.indices.filter(known(_, columns).isEmpty).take(maxFooters - sample.size)
      others.grouped(Batch).takeWhile(_ => !isLate).foreach(load(_, columns))
      val open = files.indices.filter { file =>
        val footer = known(file, columns)
        !footer.exists(_.rows == 0L) && proofOf(file, footer) != Proof.NoneMatch
      }
      val proven = TopFiles.of(open.map(keyed(_)), rowsWanted, order).map(found => found.copy(kept = found.kept.map(open)))
      val chosen = proven.fold(open: Seq[Int])(_.kept)
      val facts = chosen.map(keyed(_, countsAll = true))
      val ordered = chosen.zip(facts).map { case (file, keys) => TopFile(file, keys.map(order.first), keys.fold(0L)(_.rows)) }
      val ranged = facts.filter(_.isDefined)
      val paysInOrder =
        ranged.nonEmpty && TopFiles.expected(ranged, chosen.size.toDouble / ranged.size, rowsRead, order) <= MaxShare * ranged.size
      Right(TopSearch(proven, ordered, paysInOrder))
    }
  }

  private def isLate: Boolean = System.nanoTime() >= deadlineNanos

  private def load(chosen: Seq[Int], columns: Seq[FileColumn]): Unit =
    if (chosen.nonEmpty) footers.load(chosen.map(files(_).fileStatus), columns, conf, deadlineNanos)

  /** How many more files probably hold the missing rows. */
  private def filesFor(rowsMissing: Long, choice: FileChoice): Int =
    math.min(Batch.toDouble, math.ceil(1.1 * rowsMissing * choice.first.size / choice.provenRows)).toInt.max(1)

}

object FooterSearch {

  /** Files whose footers say whether the statistics prove anything. */
  private val Sample = 8

  /** With a larger share of the files to be read, the other footers are not worth their time. */
  private val MaxShare = 0.5

  /** How many rows are taken to be read for each one that passes a filter that no statistic proves. */
  private val FilteredRows = 10

  /** Footers that are requested at once: fewer than the queue of the reading threads holds. */
  private val Batch = 128
}
