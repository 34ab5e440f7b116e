package io.aqeplugin.limit

import io.aqeplugin.decide.Truths

/** What the statistics of a file prove about a query's filters. */
sealed abstract class Proof(val name: String)

object Proof {

  /** Every row of the file passes the filters. A query without a filter has this proof for every file. */
  case object AllMatch extends Proof("all_match")

  /** No row of the file passes. */
  case object NoneMatch extends Proof("none_match")
  case object Unknown extends Proof("unknown")

  /** The proof that a filter with these possible values gives. */
  def of(truths: Truths): Proof =
    if (!truths.canBeTrue) NoneMatch else if (truths.canBeFalse || truths.canBeNull) Unknown else AllMatch
}

/** One file of a scan.
  *
  * @param rows
  *   the exact number of its rows; none when its footer was not read
  */
final case class FileFacts(rows: Option[Long], bytes: Long, proof: Proof) {

  /** The rows that pass the filters for certain. */
  def provenRows: Long = if (proof == Proof.AllMatch) rows.fold(0L)(_.max(0L)) else 0L
}

/** The files of a limit, by their positions.
  *
  * @param first
  *   the files with proven rows: the fewest that hold the limit's rows if `isEnough`, all of them otherwise; most rows first
  * @param after
  *   files that may have matching rows, best first; empty if `isEnough`
  * @param provenRows
  *   rows of `first` that pass the filters for certain
  * @param isEnough
  *   whether `first` holds all rows that the limit takes
  */
final case class FileChoice(first: Seq[Int], after: Seq[Int], provenRows: Long, isEnough: Boolean) {
  def order: Seq[Int] = first ++ after
}

object FileChoice {

  /** The fewest files that surely hold `rowsWanted` matching rows. If the proven rows are too few, every file that may have a matching row
    * is in the choice. Equal files are chosen in the order in which they are given.
    */
  def of(files: IndexedSeq[FileFacts], rowsWanted: Long): FileChoice = {
    val proven = files.indices.filter(files(_).provenRows > 0).sortBy(i => (-files(i).provenRows, i))
    val sums = proven.scanLeft(0L)((sum, i) => saturatedSum(sum, files(i).provenRows))
    val needed = sums.indexWhere(_ >= rowsWanted)
    if (needed >= 0) FileChoice(proven.take(needed), Nil, sums(needed), isEnough = true)
    else {
      val after = files.indices.filter(i => mayMatch(files(i))).sortBy(i => (-files(i).rows.getOrElse(0L), -files(i).bytes, i))
      FileChoice(proven, after, sums.last, isEnough = false)
    }
  }

  /** Whether a file without proven rows may have matching rows. */
  private def mayMatch(file: FileFacts): Boolean = file.proof match {
    case Proof.AllMatch  => file.rows.isEmpty
    case Proof.NoneMatch => false
    case Proof.Unknown   => !file.rows.contains(0L)
  }

  private[limit] def saturatedSum(a: Long, b: Long): Long = {
    val sum = a + b
    if (sum < a) Long.MaxValue else sum
  }
}
