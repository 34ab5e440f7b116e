package io.aqeplugin.storage

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{BooleanType, DataType}

import io.aqeplugin.decide.{Truths, ValueRange}
import io.aqeplugin.observe.Wholes

/** Evaluates a query's filters on the statistics of one file, in three-valued logic. What is not understood may have any value. */
object ConditionRanges {

  /** Columns whose nulls and values are evaluated apart: each doubles the work. */
  private val MaxSplit = 3

  /** The types whose order in footers is Spark's. Strings are missing because footers may truncate them, and floating-point numbers because
    * of NaN.
    */
  def isOrdered(dataType: DataType): Boolean = Wholes.areOrdered(dataType)

  /** The columns with such types that the conditions compare. */
  def columns(conditions: Seq[Expression]): Seq[Attribute] =
    AttributeSet(conditions.map(_.references).flatten).toSeq.filter(a => isOrdered(a.dataType))

  /** The values of each column in one file; none for an unknown column. */
  type Ranges = Attribute => Option[ValueRange]

  /** The values that all conditions together may have in a file with these columns. Constants are evaluated once, for all files: a list may
    * have thousands, and a table a hundred thousand files.
    */
  def truths(conditions: Seq[Expression]): Ranges => Truths = {
    val each = conditions.map(truth)
    val columns = tested(conditions).take(MaxSplit)
    def of(known: Ranges): Truths = each.foldLeft(Truths.of(true))(_ && _(known))

    // `a IS NULL OR a < 5` is true for nulls by its first part and for values by its second, so the two are evaluated apart.
    def split(columns: Seq[Attribute], known: Ranges): Truths = columns match {
      case column +: others =>
        known(column).filter(values => values.mayBeNull && values.range.isDefined) match {
          case Some(values) =>
            def having(part: ValueRange): Ranges = other => if (other.exprId == column.exprId) Some(part) else known(other)
            split(others, having(values.copy(range = None))) | split(others, having(values.copy(mayBeNull = false)))
          case None => split(others, known)
        }
      case _ => of(known)
    }
    split(columns, _)
  }

  /** The columns that the conditions test for null. */
  private def tested(conditions: Seq[Expression]): Seq[Attribute] = conditions.flatMap(_.collect {
    case IsNull(column: Attribute)    => column
    case IsNotNull(column: Attribute) => column
  }).distinct

  private val anything: Ranges => Truths = _ => Truths.Any

  private def truth(condition: Expression): Ranges => Truths = condition match {
    case constant if constant.foldable && constant.dataType == BooleanType =>
      val value = constantTruth(constant)
      _ => value
    case And(left, right) => both(left, right)(_ && _)
    case Or(left, right)  => both(left, right)(_ || _)
    case Not(child)       =>
      val negated = truth(child)
      ranges => !negated(ranges)
    case LessThan(left, right)                                                                 => compared(left, right)(_ < _)
    case LessThanOrEqual(left, right)                                                          => compared(left, right)(_ <= _)
    case GreaterThan(left, right)                                                              => compared(left, right)((l, r) => r < l)
    case GreaterThanOrEqual(left, right)                                                       => compared(left, right)((l, r) => r <= l)
    case EqualTo(left, right)                                                                  => compared(left, right)(_ === _)
    case In(value, list) if list.forall(one => one.foldable && one.dataType == value.dataType) =>
      isIn(value, list.map(one => Try(one.eval(InternalRow.empty)).toOption.flatMap(constantRange)))
    case InSet(value, set) => isIn(value, set.toSeq.map(constantRange))
    case IsNull(child)     => alone(child)(_.isNull)
    case IsNotNull(child)  => alone(child)(found => !found.isNull)
    case _                 => anything
  }

  private def both(left: Expression, right: Expression)(by: (Truths, Truths) => Truths): Ranges => Truths = {
    val (first, second) = (truth(left), truth(right))
    ranges => by(first(ranges), second(ranges))
  }

  private def compared(left: Expression, right: Expression)(by: (ValueRange, ValueRange) => Truths): Ranges => Truths =
    if (left.dataType != right.dataType) anything
    else {
      val (first, second) = (values(left), values(right))
      ranges => (for (l <- first(ranges); r <- second(ranges)) yield by(l, r)).getOrElse(Truths.Any)
    }

  private def isIn(value: Expression, list: Seq[Option[ValueRange]]): Ranges => Truths =
    if (list.exists(_.isEmpty)) anything
    else {
      val constants = list.flatten
      val sorted = constants.flatMap(_.range).map(_._1).toVector.sorted
      val hasNull = constants.exists(_.range.isEmpty)
      alone(value)(_.isIn(sorted, hasNull))
    }

  private def alone(child: Expression)(test: ValueRange => Truths): Ranges => Truths = {
    val tested = values(child)
    ranges => tested(ranges).fold(Truths.Any)(test)
  }

  private def constantTruth(constant: Expression): Truths = Try(constant.eval(InternalRow.empty)).toOption match {
    case Some(value: Boolean)         => Truths.of(value)
    case Some(value) if value == null => Truths.Null
    case _                            => Truths.Any
  }

  private def values(expression: Expression): Ranges => Option[ValueRange] = expression match {
    case column: Attribute if isOrdered(column.dataType)               => _(column)
    case constant if constant.foldable && isOrdered(constant.dataType) =>
      val value = Try(constant.eval(InternalRow.empty)).toOption.flatMap(constantRange)
      _ => value
    case _ => _ => None
  }

  /** The range of one value of an ordered type. */
  def constantRange(value: Any): Option[ValueRange] =
    if (value == null) Some(ValueRange(None, mayBeNull = true)) else Wholes.of(value).map(ValueRange.constant)
}
