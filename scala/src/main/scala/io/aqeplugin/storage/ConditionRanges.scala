package io.aqeplugin.storage

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

import io.aqeplugin.decide.{Truths, ValueRange}

/** Evaluates a query's filters on the statistics of one file, in three-valued logic. What is not understood may have any value. */
object ConditionRanges {

  /** Columns whose nulls and values are evaluated apart: each doubles the work. */
  private val MaxSplit = 3

  /** The types whose order in footers is Spark's. Strings are missing because footers may truncate them, and floating-point numbers because
    * of NaN.
    */
  def isOrdered(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType => true
    case _                                                                                           => false
  }

  /** The columns with such types that the conditions compare. */
  def columns(conditions: Seq[Expression]): Seq[Attribute] =
    AttributeSet(conditions.map(_.references).flatten).toSeq.filter(a => isOrdered(a.dataType))

  /** The values that all conditions together may have in a file.
    *
    * @param ranges
    *   the values of the file's columns; none for an unknown column
    */
  def truths(conditions: Seq[Expression], ranges: Attribute => Option[ValueRange]): Truths = {
    def of(known: Attribute => Option[ValueRange]): Truths = conditions.map(truth(_, known)).foldLeft(Truths.of(true))(_ && _)

    // `a IS NULL OR a < 5` is true for nulls by its first part and for values by its second, so the two are evaluated apart.
    def split(columns: Seq[Attribute], known: Attribute => Option[ValueRange]): Truths = columns match {
      case column +: others =>
        ranges(column).filter(values => values.mayBeNull && values.range.isDefined) match {
          case Some(values) =>
            def having(part: ValueRange): Attribute => Option[ValueRange] =
              other => if (other.exprId == column.exprId) Some(part) else known(other)
            split(others, having(values.copy(range = None))) | split(others, having(values.copy(mayBeNull = false)))
          case None => split(others, known)
        }
      case _ => of(known)
    }
    split(tested(conditions).take(MaxSplit), ranges)
  }

  /** The columns that the conditions test for null. */
  private def tested(conditions: Seq[Expression]): Seq[Attribute] = conditions.flatMap(_.collect {
    case IsNull(column: Attribute)    => column
    case IsNotNull(column: Attribute) => column
  }).distinct

  private def truth(condition: Expression, ranges: Attribute => Option[ValueRange]): Truths = {
    def compare(left: Expression, right: Expression)(by: (ValueRange, ValueRange) => Truths): Truths =
      (for {
        l <- values(left, ranges)
        r <- values(right, ranges)
        if left.dataType == right.dataType
      } yield by(l, r)).getOrElse(Truths.Any)

    condition match {
      case constant if constant.foldable && constant.dataType == BooleanType => constantTruth(constant)
      case And(left, right)                                                  => truth(left, ranges) && truth(right, ranges)
      case Or(left, right)                                                   => truth(left, ranges) || truth(right, ranges)
      case Not(child)                                                        => !truth(child, ranges)
      case LessThan(left, right)                                             => compare(left, right)(_ < _)
      case LessThanOrEqual(left, right)                                      => compare(left, right)(_ <= _)
      case GreaterThan(left, right)                                          => compare(left, right)((l, r) => r < l)
      case GreaterThanOrEqual(left, right)                                   => compare(left, right)((l, r) => r <= l)
      case EqualTo(left, right)                                              => compare(left, right)(_ === _)
      case In(value, list)                                                   => anyOf(list.map(one => compare(value, one)(_ === _)))
      case InSet(value, set)                                                 =>
        anyOf(set.toSeq.map(one => compare(value, Literal(one, value.dataType))(_ === _)))
      case IsNull(child)    => values(child, ranges).fold(Truths.Any)(_.isNull)
      case IsNotNull(child) => values(child, ranges).fold(Truths.Any)(v => !v.isNull)
      case _                => Truths.Any
    }
  }

  private def anyOf(truths: Seq[Truths]): Truths = truths.foldLeft(Truths.of(false))(_ || _)

  private def constantTruth(constant: Expression): Truths = Try(constant.eval(InternalRow.empty)).toOption match {
    case Some(value: Boolean)         => Truths.of(value)
    case Some(value) if value == null => Truths.Null
    case _                            => Truths.Any
  }

  private def values(expression: Expression, ranges: Attribute => Option[ValueRange]): Option[ValueRange] = expression match {
    case column: Attribute if isOrdered(column.dataType)               => ranges(column)
    case constant if constant.foldable && isOrdered(constant.dataType) =>
      Try(constant.eval(InternalRow.empty)).toOption.flatMap(constantRange)
    case _ => None
  }

  /** The range of one value of an ordered type. */
  def constantRange(value: Any): Option[ValueRange] = value match {
    case null     => Some(ValueRange(None, mayBeNull = true))
    case b: Byte  => Some(ValueRange.constant(b.toLong))
    case s: Short => Some(ValueRange.constant(s.toLong))
    case i: Int   => Some(ValueRange.constant(i.toLong))
    case l: Long  => Some(ValueRange.constant(l))
    case _        => None
  }
}
