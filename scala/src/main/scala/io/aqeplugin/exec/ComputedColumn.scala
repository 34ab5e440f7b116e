package io.aqeplugin.exec

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, BoundReference, Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

/** A key that the join computes from one column, by the generated code that Spark makes for the expression.
  *
  * Not for several threads: a row's key is computed by [[isNull]] and kept for [[code]].
  *
  * @param key
  *   over the column alone
  * @param value
  *   reads the codes of the computed values, the only column of their rows
  * @param readsNulls
  *   whether the key of a null may be a value
  */
private[exec] final class ComputedColumn private (ordinal: Int, key: Expression, value: PlainColumn, override val readsNulls: Boolean)
    extends KeyColumn(ordinal) {

  @transient private lazy val ofRow = UnsafeProjection.create(Seq(ComputedColumn.at(ordinal, key)))
  @transient private lazy val ofVector = UnsafeProjection.create(Seq(ComputedColumn.at(0, key)))

  // Mutable: the key of the row that was looked at last.
  @transient private var computed: UnsafeRow = _

  override def isNull(row: InternalRow): Boolean = {
    computed = keyOf(ofRow, row)
    computed.isNullAt(0)
  }

  private def keyOf(projection: UnsafeProjection, row: InternalRow): UnsafeRow =
    try projection(row)
    catch { case NonFatal(error) => throw new KeyNotComputed(error) }

  override def code(row: InternalRow): Long = value.code(computed)

  override def ofValues: PlainColumn = value

  override def codes(vector: ColumnVector, positions: Array[Int], count: Int, codes: Array[Long]): Int =
    if (count == 0) 0
    else {
      val rows = new ColumnarBatch(Array(vector), positions(count - 1) + 1)
      val projection = ofVector
      var kept = 0
      var i = 0 // once per row
      while (i < count) {
        val p = positions(i)
        val row = keyOf(projection, rows.getRow(p))
        if (!row.isNullAt(0)) {
          codes(p) = value.code(row)
          positions(kept) = p
          kept += 1
        }
        i += 1
      }
      kept
    }
}

private[exec] object ComputedColumn {

  /** @param key
    *   an expression of a single column of `output`, of a type that filters hold
    */
  def apply(ordinal: Int, key: Expression, readsNulls: Boolean): ComputedColumn =
    new ComputedColumn(ordinal, key, KeyColumn(0, key.dataType), readsNulls)

  private def at(ordinal: Int, key: Expression): Expression = key.transform { case column: Attribute =>
    BoundReference(ordinal, column.dataType, column.nullable)
  }
}

/** The value of a key cannot be computed for a row, as with `CAST(text AS DATE)` for a text that is no date. The row may never reach the join,
  * so this is no fault: rows that cannot be checked pass.
  */
private[aqeplugin] final class KeyNotComputed(cause: Throwable)
    extends RuntimeException("a key cannot be computed for a row", cause, false, false)
