package io.aqeplugin.decide

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

object TopFiles {

  /** The place of a value in the sort order: nulls first, values, nulls last. */
  private type Rank = (Int, Long)
  private val NullsFirst: Rank = (0, 0L)
  private val NullsLast: Rank = (2, 0L)
  private val ranks: Ordering[Rank] = Ordering.Tuple2(Ordering.Int, Ordering.Long)

  /** The files that may hold one of the first `rowsWanted` rows, whatever the further sort keys are: ties with the last of these rows stay.
    *
    * @param files
    *   none for a file of which nothing is known; it is always kept
    * @return
    *   none when the known files hold too few rows
    */
  def of(files: IndexedSeq[Option[KeyedFile]], rowsWanted: Long, descending: Boolean, nullsFirst: Boolean): Option[TopFiles] = {
    val keyed = files.map(_.map(file => if (descending) file.copy(range = file.range.map(reversed)) else file))
    val counted = keyed.flatten.flatMap(counts(_, nullsFirst)).sortBy(_._1)(ranks)
    val sums = counted.scanLeft(0L)((sum, file) => FileChoice.saturatedSum(sum, file._2))
    val needed = sums.indexWhere(_ >= rowsWanted)
    Option.when(needed > 0) {
      val bound = counted(needed - 1)._1
      val kept = keyed.indices.filter(i => keyed(i).forall(file => ranks.lteq(first(file, nullsFirst), bound)))
      TopFiles(kept, Option.when(bound._1 == 1)(if (descending) ~bound._2 else bound._2))
    }
  }

  /** Reverses the order of all longs, without the overflow of a negation. */
  private def reversed(range: (Long, Long)): (Long, Long) = (~range._2, ~range._1)

  /** The rank up to which rows of the file are sorted, with the number of these rows. */
  private def counts(file: KeyedFile, nullsFirst: Boolean): Option[(Rank, Long)] = (file.range, file.nulls) match {
    case (Some((_, high)), _) if nullsFirst => Some(((1, high), file.rows))
    case (None, _) if nullsFirst            => Some((NullsFirst, file.rows))
    case (Some((_, high)), Some(nulls))     => Some(((1, high), (file.rows - nulls).max(0L)))
    case _                                  => None
  }

  /** The smallest rank that a row of the file may have. */
  private def first(file: KeyedFile, nullsFirst: Boolean): Rank =
    if (nullsFirst && !file.nulls.contains(0L)) NullsFirst else file.range.fold(if (nullsFirst) NullsFirst else NullsLast)(r => (1, r._1))
}
