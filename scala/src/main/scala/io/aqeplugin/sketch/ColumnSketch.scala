package io.aqeplugin.sketch

import io.aqeplugin.filters.{CodeRange, CodeTable}

/** What is known of one column of a key of several columns, whose codes as a whole are hashes. Rows whose key has a null are left out.
  *
  * @param range
  *   smallest and largest code, if codes of this column are its values and there is one
  * @param codes
  *   every distinct code, without repetition and in no order; none if there are too many
  */
final case class ColumnSketch(range: Option[CodeRange], codes: Option[Array[Long]])

object ColumnSketch {

  /** Distinct codes of a column that are kept at most. They choose among partitions and files, which are seldom more. */
  private[sketch] val MostCodes = 1000
}

/** Sketches one column of a key of several columns. Mutable; belongs to one thread.
  *
  * @param mostCodes
  *   number of distinct codes up to which all are kept
  * @param areValues
  *   whether added codes are values, so that their order means something
  */
final class ColumnSketcher(mostCodes: Int, areValues: Boolean = false) {
  private val extremes = new CodeExtremes
  private var few: Option[CodeTable] = Some(new CodeTable(mostCodes))

  /** Adds the first `count` of `codes`, whose contents are lost. */
  def add(codes: Array[Long], count: Int): Unit = {
    if (areValues) extremes.add(codes, count)
    few.foreach(addNew(_, codes, count))
  }

  /** Adds the sketch of another part, whose codes are lost. */
  def absorb(other: ColumnSketch): Unit = {
    other.range.foreach(extremes.add)
    other.codes match {
      case Some(codes) => few.foreach { table =>
          table.reserve(math.min(codes.length, mostCodes))
          addNew(table, codes, codes.length)
        }
      case None => few = None
    }
  }

  def result: ColumnSketch = ColumnSketch(extremes.result, few.map(_.codes))

  private def addNew(table: CodeTable, codes: Array[Long], count: Int): Unit = {
    val strangers = table.moveStrangers(codes, count)
    var i = 0 // once per row whose code is new
    while (i < strangers && table.size <= mostCodes) { table.add(codes(i)); i += 1 }
    if (table.size > mostCodes) few = None
  }
}
