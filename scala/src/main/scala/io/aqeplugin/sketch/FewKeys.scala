package io.aqeplugin.sketch

import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.filters.{CodeRange, KeyHasher, SortedCodes}

/** The keys of rows that are so few that the codes of each are kept. A [[KeySketcher]] takes longer to make than such keys to read.
  *
  * Mutable; belongs to one thread.
  *
  * @param mostRows
  *   rows with a key
  * @param areValues
  *   for each column of the key, whether its codes are values
  * @param areTexts
  *   for each column of the key, whether [[addText]] gives its values
  */
final class FewKeys(mostRows: Int, areValues: Seq[Boolean], areTexts: Seq[Boolean]) {
  private val limits = SketchLimits.forTasks(1, Int.MaxValue)
  private val texts = areTexts.map(if (_) Some(new DistinctTexts(limits.columnCodes, limits.columnTextBytes)) else None)
  private var count = 0

  /** For each column, the codes of the rows; those of the next row go to index [[size]]. */
  val codes: Array[Array[Long]] = areValues.map(_ => new Array[Long](mostRows)).toArray

  /** Number of rows with a key that were added. */
  def size: Int = count

  /** Adds the value of a column of texts of the next row, whose code was written. */
  def addText(column: Int, text: UTF8String): Unit = texts(column).foreach(_.add(codes(column)(count), text))

  /** Adds the row whose codes were written. */
  def add(): Unit = count += 1

  /** @param rows
    *   all rows; those that were not added have a null in their key
    */
  def result(rows: Long): KeySummary = {
    val columns = codes.toSeq.map(java.util.Arrays.copyOf(_, count))
    val sorted = columns.map(_.sorted)
    val ofColumns = sorted.map(SortedCodes.distinct)
    val distinct = if (columns.size == 1) ofColumns.head else SortedCodes.ofAll(combined(columns))
    val sketches = ofColumns.lazyZip(areValues).map { (found, are) =>
      ColumnSketch(if (are) range(found) else None, Some(found).filter(_.length <= limits.columnCodes))
    }
    KeySummary(
      rows,
      nulls = math.max(0L, rows - count),
      range = if (columns.size == 1) sketches.head.range else None,
      distinct = distinct.length.toLong,
      codes = Some(distinct),
      buckets = if (areValues == Seq(true)) buckets(sorted.head) else Nil,
      columns = if (columns.size == 1) Nil else sketches,
      texts = texts.map(_.flatMap(_.result))
    )
  }

  private def combined(columns: Seq[Array[Long]]): Array[Long] =
    columns.reduce((left, right) => Array.tabulate(count)(row => KeyHasher.combine(left(row), right(row))))

  /** Equi-height buckets. A key that fills several of them makes one. */
  private def buckets(sorted: Array[Long]): Seq[CodeBucket] = {
    val lasts = (1 to StageSketch.Buckets).map(rank => sorted.length * rank / StageSketch.Buckets - 1).filter(_ >= 0)
    val ends = lasts.map { last =>
      val next = sorted.indexWhere(_ > sorted(last), last)
      if (next < 0) sorted.length else next
    }.distinct
    (0 +: ends).lazyZip(ends).map { (begin, end) =>
      CodeBucket(if (begin == 0) sorted.head else sorted(begin - 1) + 1, sorted(end - 1), (end - begin).toLong)
    }
  }

  private def range(ascending: Array[Long]): Option[CodeRange] =
    ascending.headOption.zip(ascending.lastOption).map { case (min, max) => CodeRange(min, max) }
}
