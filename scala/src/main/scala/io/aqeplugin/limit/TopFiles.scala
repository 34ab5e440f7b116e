package io.aqeplugin.limit

import scala.annotation.tailrec

/** What is known of the sort key in one file.
  *
  * @param rows
  *   the exact number of rows
  * @param range
  *   bounds of the values that are not null, both included; none when every value is null
  * @param nulls
  *   the exact number of nulls; none when it is unknown
  */
final case class KeyedFile(rows: Long, range: Option[(Long, Long)], nulls: Option[Long])

/** The files that may hold the first rows of a sorted table.
  *
  * @param kept
  *   the positions of these files, in the order in which they are given
  * @param bound
  *   the first rows have this value of the key or one that is sorted before it; none when only nulls are known to be sorted first
  */
final case class TopFiles(kept: Seq[Int], bound: Option[Long])

/** The files for the first rows of a sorted scan.
  *
  * @param proven
  *   the files that the footers alone leave; none when the known files hold too few proven rows
  * @param files
  *   these files, or all that may have a matching row
  * @param paysInOrder
  *   whether the rows of a part of these files probably rule out the others
  */
final case class TopSearch(proven: Option[TopFiles], files: Seq[TopFile], paysInOrder: Boolean)

object TopFiles {
  import TopOrder._

  /** The files that may hold one of the first `rowsWanted` rows, whatever the further sort keys are: ties with the last of these rows stay.
    *
    * @param files
    *   none for a file of which nothing is known; it is always kept
    * @return
    *   none when the known files hold too few rows
    */
  def of(files: IndexedSeq[Option[KeyedFile]], rowsWanted: Long, order: TopOrder): Option[TopFiles] = {
    val counted = files.flatten.flatMap(counts(_, order)).sortBy(_._1)(ranks)
    val sums = counted.scanLeft(0L)((sum, file) => FileChoice.saturatedSum(sum, file._2))
    val needed = sums.indexWhere(_ >= rowsWanted)
    Option.when(needed > 0) {
      val bound = counted(needed - 1)._1
      val kept = files.indices.filter(i => files(i).forall(file => ranks.lteq(order.first(file), bound)))
      TopFiles(kept, order.value(bound))
    }
  }

  /** How many files of a sample probably hold one of the first `rowsWanted` rows of their table. The values of a file are taken to be spread
    * evenly over its range.
    *
    * @param sample
    *   none for a file of which nothing is known
    * @param scale
    *   the table has so many files for each one of the sample
    */
  def expected(sample: Seq[Option[KeyedFile]], scale: Double, rowsWanted: Double, order: TopOrder): Int = {
    val ranges = for {
      file <- sample.flatten
      (low, high) <- order.ascending(file.range)
    } yield (file.rows.toDouble, low.toDouble, high.toDouble)
    def rowsUpTo(value: Double): Double = scale * ranges.map { case (rows, low, high) =>
      rows * math.max(0.0, math.min(1.0, (value - low + 1) / (high - low + 1)))
    }.sum

    @tailrec def bound(low: Double, high: Double, steps: Int): Double =
      if (steps == 0) high
      else {
        val middle = low + (high - low) / 2
        if (rowsUpTo(middle) >= rowsWanted) bound(low, middle, steps - 1) else bound(middle, high, steps - 1)
      }
    val last = if (ranges.isEmpty) 0.0 else bound(ranges.map(_._2).min, ranges.map(_._3).max, Bisections)
    sample.count(_.forall(file => order.first(file) == NullsFirst || order.ascending(file.range).exists(_._1.toDouble <= last)))
  }

  private val Bisections = 64

  /** The rank up to which rows of the file are sorted, with the number of these rows. */
  private def counts(file: KeyedFile, order: TopOrder): Option[(Rank, Long)] = (order.ascending(file.range), file.nulls) match {
    case (Some((_, high)), _) if order.nullsFirst => Some(((1, high), file.rows))
    case (None, _) if order.nullsFirst            => Some((NullsFirst, file.rows))
    case (Some((_, high)), Some(nulls))           => Some(((1, high), (file.rows - nulls).max(0L)))
    case _                                        => None
  }
}
