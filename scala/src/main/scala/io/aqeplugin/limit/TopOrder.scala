package io.aqeplugin.limit

/** The direction of the first sort key. */
final case class TopOrder(descending: Boolean, nullsFirst: Boolean) {
  import TopOrder._

  /** The smallest rank that a row of the file may have. */
  def first(file: KeyedFile): Rank =
    if (nullsFirst && !file.nulls.contains(0L)) NullsFirst
    else ascending(file.range).fold(if (nullsFirst) NullsFirst else NullsLast)(r => (1, r._1))

  /** The rank of a key; none is a null. */
  def rank(key: Option[Long]): Rank =
    key.fold(if (nullsFirst) NullsFirst else NullsLast)(value => (1, if (descending) ~value else value))

  /** The key with this rank; none for nulls. */
  def value(rank: Rank): Option[Long] = Option.when(rank._1 == 1)(if (descending) ~rank._2 else rank._2)

  /** The range in ascending order: `~` reverses the order of all longs, without the overflow of a negation. */
  private[limit] def ascending(range: Option[(Long, Long)]): Option[(Long, Long)] =
    if (descending) range.map { case (low, high) => (~high, ~low) } else range
}

object TopOrder {

  /** The place of a value in the sort order: nulls first, values, nulls last. */
  type Rank = (Int, Long)
  private[limit] val NullsFirst: Rank = (0, 0L)
  private[limit] val NullsLast: Rank = (2, 0L)
  val ranks: Ordering[Rank] = Ordering.Tuple2(Ordering.Int, Ordering.Long)
}

/** A file that is read for the first rows.
  *
  * @param position
  *   its position in the scan
  * @param first
  *   the smallest rank of its rows; none when it is unknown
  * @param rows
  *   its rows, filtered ones included; 0 when they are unknown
  */
final case class TopFile(position: Int, first: Option[TopOrder.Rank], rows: Long)

/** The order in which files are read: those whose rows may come first at the front, unknown ones last.
  *
  * @param slots
  *   tasks that can run at once
  */
final case class TopWaves(files: IndexedSeq[TopFile], rowsWanted: Long, slots: Int) {

  /** The files to read next: as many as were read before, at least one a slot, and at first enough for the rows wanted if all rows count. */
  def next(read: Int): IndexedSeq[TopFile] = {
    val filling =
      if (read == 0) files.scanLeft(0L)((sum, file) => FileChoice.saturatedSum(sum, file.rows)).indexWhere(_ >= rowsWanted) else 0
    files.take(Seq(read, slots, filling).max)
  }

  /** What is left after files were read.
    *
    * @param bound
    *   the rank of the last of the rows wanted that were found; none while there are too few
    */
  def after(read: IndexedSeq[TopFile], bound: Option[TopOrder.Rank]): TopWaves = copy(files =
    files.drop(read.size).filter(file => bound.forall(last => file.first.forall(TopOrder.ranks.lteq(_, last))))
  )
}

object TopWaves {
  def of(files: Seq[TopFile], rowsWanted: Long, slots: Int): TopWaves = {
    val (known, unknown) = files.partition(_.first.isDefined)
    TopWaves((known.sortBy(_.first.get)(TopOrder.ranks) ++ unknown).toIndexedSeq, rowsWanted, slots)
  }
}
