package io.aqeplugin.exec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.aqeplugin.filters.KeyHasher
import io.aqeplugin.observe.KeyKind

/** Turns the keys of rows and batches into the 64-bit codes that filters hold.
  *
  * A single integer-like key is its own code, so its filter can be exact, with a meaningful minimum and maximum; all other keys are
  * hashed.
  * Build and probe side must list their keys in the same order and with the same [[KeyKind]]s. Not for several threads: a task has its own.
  *
  * @param areValues
  *   for each column, whether its code is its value
  * @param nanosPerRow
  *   what a code costs
  */
final class KeyCoder private (columns: Array[KeyColumn], val areValues: Seq[Boolean], val nanosPerRow: Double) extends Serializable {

  /** Whether a code is the key itself. */
  val isExact: Boolean = areValues == Seq(true)

  def hasNull(row: InternalRow): Boolean = {
    var i = 0 // once per row
    while (i < columns.length && !columns(i).isNull(row)) i += 1
    i < columns.length
  }

  /** Code of the row that [[hasNull]] was asked of last, which has no null key. */
  def code(row: InternalRow): Long = {
    var code = columns(0).code(row)
    var i = 1 // once per row
    while (i < columns.length) {
      code = KeyHasher.combine(code, columns(i).code(row))
      i += 1
    }
    code
  }

  /** Writes the code of each column, of the row that [[hasNull]] was asked of last, which has no null key. */
  def codes(row: InternalRow, codes: Array[Long]): Unit = {
    var i = 0 // once per row
    while (i < columns.length) {
      codes(i) = columns(i).code(row)
      i += 1
    }
  }

  /** Writes the code of each column to its array at `index`, of the row that [[hasNull]] was asked of last, which has no null key. */
  def columnCodes(row: InternalRow, codes: Array[Array[Long]], index: Int): Unit = {
    var i = 0 // once per row
    while (i < columns.length) {
      codes(i)(index) = columns(i).code(row)
      i += 1
    }
  }

  /** What turns the values of each key column into codes. */
  def ofValues: Seq[PlainColumn] = columns.toSeq.map(_.ofValues)

  /** Whether a key is no column, so that it may throw. */
  val computes: Boolean = columns.exists(_.isInstanceOf[ComputedColumn])

  /** For each column, whether it holds texts that are compared byte by byte. */
  val areTexts: Seq[Boolean] = columns.toSeq.map(_.isText)

  /** The ordinal of the column that each key reads. */
  def ordinals: Seq[Int] = columns.toSeq.map(_.ordinal)

  /** The key's column, if it is a single one. */
  def onlyColumn: Option[KeyColumn] = if (columns.length == 1) columns.headOption else None

  /** Drops the positions whose key is null because a column is, and returns the number of the others. */
  def withoutNulls(batch: ColumnarBatch, positions: Array[Int], count: Int): Int = {
    var left = count
    var c = 0 // once per batch and column; the inner loops run once per row
    while (c < columns.length) {
      if (!columns(c).readsNulls) left = withoutNulls(batch, columns(c).ordinal, positions, left)
      c += 1
    }
    left
  }

  /** Writes the codes of the first `count` positions that [[withoutNulls]] kept, and drops those whose key turns out to be null.
    *
    * @param scratch
    *   as long as `codes`; only used with several key columns
    * @return
    *   number of positions kept
    */
  def codesOf(batch: ColumnarBatch, positions: Array[Int], count: Int, codes: Array[Long], scratch: Array[Long]): Int = {
    var left = columns(0).codes(batch.column(columns(0).ordinal), positions, count, codes)
    var c = 1 // once per batch and column; the inner loops run once per row
    while (c < columns.length) {
      left = columns(c).codes(batch.column(columns(c).ordinal), positions, left, scratch)
      var i = 0
      while (i < left) {
        val p = positions(i)
        codes(p) = KeyHasher.combine(codes(p), scratch(p))
        i += 1
      }
      c += 1
    }
    left
  }

  /** Writes the codes of each column to its array at the positions without a null key, and drops the other positions.
    *
    * @return
    *   number of positions kept
    */
  def columnCodes(batch: ColumnarBatch, positions: Array[Int], count: Int, codes: Array[Array[Long]]): Int = {
    var left = withoutNulls(batch, positions, count)
    var c = 0 // once per batch and column
    while (c < columns.length) {
      left = columns(c).codes(batch.column(columns(c).ordinal), positions, left, codes(c))
      c += 1
    }
    left
  }

  private def withoutNulls(batch: ColumnarBatch, ordinal: Int, positions: Array[Int], count: Int): Int = {
    val vector = batch.column(ordinal)
    if (!vector.hasNull) {
      count
    } else {
      var kept = 0
      var i = 0
      while (i < count) {
        val p = positions(i)
        if (!vector.isNullAt(p)) {
          positions(kept) = p
          kept += 1
        }
        i += 1
      }
      kept
    }
  }
}

object KeyCoder {

  /** The coder of `keys` over the columns of `output`. Every key must be a [[io.aqeplugin.observe.JoinKey]]. */
  def apply(keys: Seq[Expression], output: Seq[Attribute]): KeyCoder = {
    val areValues = keys.map(key => KeyKind.of(key.dataType).exists(_.isInteger))
    new KeyCoder(KeyColumn.of(keys, output), areValues, CheckCost.nanosOfCode(keys))
  }
}
