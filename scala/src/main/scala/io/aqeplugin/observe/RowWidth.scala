package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeRow}
import org.apache.spark.sql.execution.adaptive.{QueryStageExec, ShuffleQueryStageExec}
import org.apache.spark.sql.types.{DataType, Decimal, DecimalType}

/** The size of one row in memory as an UnsafeRow.
  *
  * @param bytes
  *   at least the size of the average row, except that unmeasured columns count with the default width of their types
  * @param unmeasuredColumns
  *   number of variable-width columns whose bytes were not measured
  */
final case class RowWidth(bytes: Long, unmeasuredColumns: Int)

object RowWidth {
  private val WordBytes = 8L

  /** Bytes of a row whose columns have the default width of their types. */
  def ofRow(output: Seq[Attribute]): Long = ofRow(output, _ => None)

  /** The same, where the bytes of some columns are known. */
  def ofRow(output: Seq[Attribute], known: Attribute => Option[Long]): Long =
    WordBytes + output.map(column => known(column).getOrElse(defaultBytes(column))).sum

  /** Bytes of a value of variable width in a row, with the word that says where it is. */
  def ofValue(length: Long): Long = WordBytes + (length + WordBytes - 1) / WordBytes * WordBytes

  /** Bytes that each column of variable width has in an average row of a finished stage of `rows` rows, if it measured them. */
  def ofVariableColumn(stage: QueryStageExec, rows: Long): Option[Long] = {
    val columns = stage.output.count(!isFixed(_))
    if (rows == 0 || columns == 0) None
    else measured(stage, rows).map(bytes => WordBytes + math.max(0L, bytes - fixedBytes(stage.output)) / columns)
  }

  /** The width of rows of `output` above a finished stage of `rows` rows. */
  def above(stage: QueryStageExec, rows: Long, output: Seq[Attribute])(origin: Attribute => Option[Attribute]): RowWidth =
    if (rows == 0) RowWidth(ofRow(output), 0)
    else above(stage.output, measured(stage, rows), output)(origin)

  /** The width of rows of `output` above a stage with the columns `stage`.
    *
    * A shuffle measures the uncompressed bytes of its rows. Minus the bytes of the fixed-width columns, they belong to the variable-width
    * columns.
    *
    * @param stageBytes
    *   bytes of an average row of the stage, if it measured them
    * @param origin
    *   the column of the stage that a given column copies; none for a column that is computed above the stage
    */
  private[observe] def above(stage: Seq[Attribute], stageBytes: Option[Long], output: Seq[Attribute])(
      origin: Attribute => Option[Attribute]
  ): RowWidth = {
    val origins = output.filterNot(isFixed).map(column => column -> stageBytes.flatMap(_ => origin(column)))
    val unmeasured = origins.collect { case (column, None) => column }
    // How often the output may repeat one stage column. That column may hold all the variable bytes.
    val times = origins.flatMap(_._2).groupBy(_.exprId).values.map(_.size).maxOption.getOrElse(0)
    val variableBytes = stageBytes.fold(0L)(bytes => math.max(0L, bytes - fixedBytes(stage)))
    RowWidth(fixedBytes(output) + times * variableBytes + unmeasured.map(defaultBytes).sum, unmeasured.size)
  }

  /** Number of variable-width columns that are computed above the exchange; `origin` finds that exchange's columns. */
  def computedColumns(output: Seq[Attribute])(origin: Attribute => Option[Attribute]): Int =
    output.count(column => !isFixed(column) && origin(column).isEmpty)

  /** Bytes of an average row, rounded up. */
  private def measured(stage: QueryStageExec, rows: Long): Option[Long] = stage match {
    case shuffle: ShuffleQueryStageExec =>
      Some(shuffle.getRuntimeStatistics.sizeInBytes).filter(_ > 0).map(bytes => ((bytes + rows - 1) / rows).min(Int.MaxValue).toLong)
    case _ => None
  }

  /** The null bits, one word per column, and the extra bytes of wide decimals and intervals. */
  private def fixedBytes(output: Seq[Attribute]): Long = {
    val nullBits = (output.size + 63) / 64 * WordBytes
    nullBits + output.map(column => WordBytes + (if (isFixed(column) && isWide(column)) 2 * WordBytes else 0L)).sum
  }

  private def isFixed(column: Attribute): Boolean = isFixed(column.dataType)

  /** Whether all values of a type take the same bytes in memory. */
  private[observe] def isFixed(dataType: DataType): Boolean = UnsafeRow.isMutable(dataType)

  private def isWide(column: Attribute): Boolean = column.dataType match {
    case decimal: DecimalType => decimal.precision > Decimal.MAX_LONG_DIGITS
    case other                => !UnsafeRow.isFixedLength(other)
  }

  private def defaultBytes(column: Attribute): Long = math.max(WordBytes, column.dataType.defaultSize.toLong)
}
