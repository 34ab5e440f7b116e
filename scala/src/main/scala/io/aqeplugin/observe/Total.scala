package io.aqeplugin.observe

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{Average, Percentile, Sum}
import org.apache.spark.sql.catalyst.util.StringUtils
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Whether an expression has a value for every possible row. Those that [[KnownExpressions]] lacks are assumed to throw, as functions of users, which may fail on a part of a group.
  *
  * An aggregate function counts as total if its value over any part of a group exists. Of sums, those do that would take billions of rows to
  * overflow; a sum of numbers as wide as its result may have a part that exceeds what the whole never reaches. A correlation fails where one
  * side is constant, as it may be in a part.
  */
private[aqeplugin] object Total {

  def apply(expression: Expression): Boolean = isTotal(expression, Nil)

  /** @param nonZero
    *   expressions that are known not to be 0 where the expression is evaluated
    */
  private def isTotal(expression: Expression, nonZero: Seq[Expression]): Boolean = expression match {
    case If(IsZero(divisor), zero, other)                              => isGuarded(divisor, zero, other, nonZero)
    case CaseWhen(Seq((IsZero(divisor), zero)), Some(other))           => isGuarded(divisor, zero, other, nonZero)
    case Remainder(number, Literal(divisor, _), _)                     => isNonZero(divisor) && isTotal(number, nonZero)
    case Divide(_, Literal(divisor, _), _) if isZero(divisor)          => false
    case Divide(number, _: Literal, _) if hasRoom(expression.dataType) => isTotal(number, nonZero)
    case Divide(number, divisor, _) if expression.dataType == DoubleType && nonZero.exists(_.semanticEquals(divisor)) =>
      isTotal(number, nonZero) && isTotal(divisor, nonZero)
    case other => ofItself(other) && other.children.forall(isTotal(_, nonZero))
  }

  private def isGuarded(divisor: Expression, zero: Expression, other: Expression, nonZero: Seq[Expression]): Boolean =
    isTotal(divisor, nonZero) && isTotal(zero, nonZero) && isTotal(other, nonZero :+ divisor)

  /** Whether an expression has a value wherever its children have one. */
  def ofItself(expression: Expression): Boolean = expression match {
    case frame: SpecifiedWindowFrame          => isWithoutArithmetic(frame)
    case Like(_, Literal(pattern, _), escape) => isPattern(pattern, escape)
    // What `show` makes of each column.
    case pretty: ToPrettyString                        => hasText(pretty.child.dataType)
    case cast: Cast                                    => widens(cast.child.dataType, cast.dataType)
    case number @ (_: Add | _: Subtract | _: Multiply) => hasRoom(number.dataType)
    case sum: Sum                                      => isNarrow(sum.child)
    case average: Average                              =>
      average.child.dataType match {
        case _: DecimalType => isNarrow(average.child)
        case summed         => summed.isInstanceOf[NumericType]
      }
    // Rows with a negative frequency fail the query.
    case percentile: Percentile => percentile.frequencyExpression.isInstanceOf[Literal]
    case other                  => KnownExpressions.has(other, KnownExpressions.HasValue)
  }

  /** The bounds of a frame by range are the order key plus or minus an offset, which may overflow and is no expression of the operator. */
  private def isWithoutArithmetic(frame: SpecifiedWindowFrame): Boolean =
    frame.frameType == RowFrame || Seq(frame.lower, frame.upper).forall(_.isInstanceOf[SpecialFrameBoundary])

  /** Whether numbers are so much narrower than their sum that no table has enough of them to fill it. */
  private def isNarrow(summed: Expression): Boolean = summed match {
    case _: UnscaledValue => true
    case _                =>
      summed.dataType match {
        case ByteType | ShortType | IntegerType | FloatType | DoubleType => true
        case LongType                                                    => wholeDigits(summed).exists(_ <= DigitsOfInt)
        case decimal: DecimalType                                        =>
          val ofSum = math.min(decimal.precision + DigitsOfRows, DecimalType.MAX_PRECISION) - decimal.scale
          wholeDigits(summed).exists(_ + DigitsOfRows <= ofSum)
        case _ => false
      }
  }

  /** Digits before the point that a number may have, if known; those of its source where it was cast to a wider type. */
  private def wholeDigits(number: Expression): Option[Int] = number match {
    case cast: Cast if widens(cast.child.dataType, cast.dataType) => wholeDigits(cast.child)
    case other                                                    =>
      other.dataType match {
        case decimal: DecimalType => Some(decimal.precision - decimal.scale)
        case ByteType             => Some(3)
        case ShortType            => Some(5)
        case IntegerType          => Some(DigitsOfInt)
        case LongType             => Some(19)
        case _                    => None
      }
  }

  private val DigitsOfInt = 10

  /** By so many digits is the sum of decimals wider than each of them, if Spark has so many. */
  val DigitsOfRows = 10

  private object IsZero {
    def unapply(condition: Expression): Option[Expression] = condition match {
      case EqualTo(number, Literal(zero, _)) if isZero(zero) => Some(number)
      case _                                                 => None
    }
  }

  /** Whether a LIKE pattern has no escape character in a wrong place, which fails the query at its first row. */
  private def isPattern(pattern: Any, escape: Char): Boolean = pattern match {
    case text: UTF8String => Try(StringUtils.escapeLikeRegex(text.toString, escape)).isSuccess
    case _                => false
  }

  private def isZero(value: Any): Boolean = value match {
    case decimal: Decimal => decimal.toDouble == 0.0
    case number: Number   => number.doubleValue == 0.0
    case _                => false
  }

  private def isNonZero(value: Any): Boolean = value match {
    case _: Byte | _: Short | _: Int | _: Long => !isZero(value)
    case _                                     => false
  }

  private def widens(from: DataType, to: DataType): Boolean = to match {
    case _: NumericType | _: StringType => Cast.canUpCast(from, to)
    case _ if KeyKind.isTime(to)        => KeyKind.isTime(from)
    case _                              => false
  }

  /** Whether every value has a text. That of a variant may be damaged. */
  private def hasText(dataType: DataType): Boolean = dataType match {
    case _: NumericType | _: StringType | BinaryType | BooleanType | DateType | TimestampType | TimestampNTZType => true
    case ArrayType(element, _)                                                                                   => hasText(element)
    case MapType(key, value, _) => hasText(key) && hasText(value)
    case struct: StructType     => struct.forall(field => hasText(field.dataType))
    case _                      => false
  }

  /** Whether a decimal result has digits for every value: it does unless its precision was cut to the maximum. */
  private def hasRoom(dataType: DataType): Boolean = dataType match {
    case decimal: DecimalType   => decimal.precision < DecimalType.MAX_PRECISION
    case DoubleType | FloatType => true
    case _                      => false
  }
}
