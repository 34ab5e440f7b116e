package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeRow}
import org.apache.spark.sql.execution.adaptive.{QueryStageExec, ShuffleQueryStageExec}
import org.apache.spark.sql.types.{Decimal, DecimalType}

/** What one row takes in memory as an UnsafeRow.
  *
  * @param bytes
  *   no less than the average row takes, but for the unmeasured columns, for which it has the default width of their types
  * @param unmeasuredColumns
  *   columns of variable width whose bytes nobody measured
  */
final case class RowWidth(bytes: Long, unmeasuredColumns: Int)

object RowWidth {
  private val WordBytes = 8L

  /** Bytes of a row whose columns have the default width of their types. */
  def ofRow(output: Seq[Attribute]): Long = WordBytes + output.map(defaultBytes).sum

  /** The width of rows of `output` above a finished stage of `rows` rows. */
  def above(stage: QueryStageExec, rows: Long, output: Seq[Attribute])(origin: Attribute => Option[Attribute]): RowWidth =
    if (rows == 0) RowWidth(ofRow(output), 0)
    else above(stage.output, measured(stage, rows), output)(origin)

  /** The width of rows of `output` above a stage of columns `stage`.
    *
    * A shuffle measures the bytes of its rows before compression; less what its columns of fixed width take, they are those of the others.
    *
    * @param stageBytes
    *   bytes of an average row of the stage, if it measured them
    * @param origin
    *   the column of the stage that a column is a copy of; none for one that is computed above the stage
    */
  private[observe] def above(stage: Seq[Attribute], stageBytes: Option[Long], output: Seq[Attribute])(
      origin: Attribute => Option[Attribute]
  ): RowWidth = {
    val origins = output.filterNot(isFixed).map(column => column -> stageBytes.flatMap(_ => origin(column)))
    val unmeasured = origins.collect { case (column, None) => column }
    // At most so often is one column of the stage, which may have all of the bytes, a column of the output.
    val times = origins.flatMap(_._2).groupBy(_.exprId).values.map(_.size).maxOption.getOrElse(0)
    val variableBytes = stageBytes.fold(0L)(bytes => math.max(0L, bytes - fixedBytes(stage)))
    RowWidth(fixedBytes(output) + times * variableBytes + unmeasured.map(defaultBytes).sum, unmeasured.size)
  }

  /** How many columns of variable width are computed above the exchange whose columns `origin` finds. */
  def computedColumns(output: Seq[Attribute])(origin: Attribute => Option[Attribute]): Int =
    output.count(column => !isFixed(column) && origin(column).isEmpty)

  /** Bytes of an average row, rounded up. */
  private def measured(stage: QueryStageExec, rows: Long): Option[Long] = stage match {
    case shuffle: ShuffleQueryStageExec =>
      Some(shuffle.getRuntimeStatistics.sizeInBytes).filter(_ > 0).map(bytes => ((bytes + rows - 1) / rows).min(Int.MaxValue).toLong)
    case _ => None
  }

  /** The null bits, a word for each column, and what decimals of more than a word and intervals take besides. */
  private def fixedBytes(output: Seq[Attribute]): Long = {
    val nullBits = (output.size + 63) / 64 * WordBytes
    nullBits + output.map(column => WordBytes + (if (isFixed(column) && isWide(column)) 2 * WordBytes else 0L)).sum
  }

  private def isFixed(column: Attribute): Boolean = UnsafeRow.isMutable(column.dataType)

  private def isWide(column: Attribute): Boolean = column.dataType match {
    case decimal: DecimalType => decimal.precision > Decimal.MAX_LONG_DIGITS
    case other                => !UnsafeRow.isFixedLength(other)
  }

  private def defaultBytes(column: Attribute): Long = math.max(WordBytes, column.dataType.defaultSize.toLong)
}
