package io.aqeplugin.observe

import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.expressions.{Attribute, Cast, CollationKey, Expression, KnownFloatingPointNormalized}
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.execution.joins.HashJoin
import org.apache.spark.sql.types._

import io.aqeplugin.decide.{KeyFacts, Reason, ReasonCode}

/** How the values of a key column become 64-bit codes. Columns of the same kind give equal codes for values that Spark considers equal,
  * whatever their physical width; therefore `int` and `bigint` share one kind.
  *
  * @param isInteger
  *   whether the code is the value itself rather than a hash
  */
sealed abstract class KeyKind(val name: String, val isInteger: Boolean)

object KeyKind {
  case object Integral extends KeyKind("integral", true)
  case object Date extends KeyKind("date", true)
  case object Timestamp extends KeyKind("timestamp", true)
  case object Bool extends KeyKind("boolean", true)

  /** Decimals of up to 18 digits: the unscaled number. */
  final case class ShortDecimal(scale: Int) extends KeyKind("decimal", true)

  /** Decimals of more than 18 digits: a hash of the unscaled bytes. */
  final case class WideDecimal(scale: Int) extends KeyKind("wide_decimal", false)

  /** Strings that are compared byte by byte. */
  case object BinaryString extends KeyKind("string", false)

  /** Strings of a collation: a hash of the collation key, which is equal for equal strings. */
  final case class CollatedString(collation: Int) extends KeyKind("collated_string", false)

  case object Binary extends KeyKind("binary", false)

  /** Months. */
  case object YearMonthInterval extends KeyKind("year_month_interval", true)

  /** Microseconds. */
  case object DayTimeInterval extends KeyKind("day_time_interval", true)

  /** Nanoseconds of the day. */
  case object Time extends KeyKind("time", true)

  /** Floats and doubles: the bits of the double, one pattern for both zeros and one for every NaN. */
  case object Floating extends KeyKind("floating", false)

  /** Whether values are times of a day, in whole nanoseconds whatever the precision. Known by name: Spark 4.0 has no such type. */
  def isTime(dataType: DataType): Boolean = dataType.typeName.startsWith("time(")

  /** The kind for a type, or why filters do not support the type. */
  def of(dataType: DataType): Either[Reason, KeyKind] = dataType match {
    case ByteType | ShortType | IntegerType | LongType            => Right(Integral)
    case DateType                                                 => Right(Date)
    case TimestampType | TimestampNTZType                         => Right(Timestamp)
    case BooleanType                                              => Right(Bool)
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS => Right(ShortDecimal(d.scale))
    case d: DecimalType                                           => Right(WideDecimal(d.scale))
    case _: YearMonthIntervalType                                 => Right(YearMonthInterval)
    case _: DayTimeIntervalType                                   => Right(DayTimeInterval)
    case FloatType | DoubleType                                   => Right(Floating)
    case BinaryType                                               => Right(Binary)
    case s: StringType if SparkBridge.isComparedByBytes(s)        => Right(BinaryString)
    case s: StringType                                            => Right(CollatedString(s.collationId))
    case time if isTime(time)                                     => Right(Time)
    case _                                                        => Left(Reason(ReasonCode.UnsupportedKeyType))
  }

  /** Whether equal values of this type are the same in every expression; false for types without a kind. -0.0 and 0.0 are equal and print
    * differently; strings of some collations are equal and differ in bytes.
    */
  def areTheSameWhenEqual(dataType: DataType): Boolean = of(dataType).exists {
    case Floating | CollatedString(_)                                      => false
    case Integral | Date | Timestamp | Bool | Time | BinaryString | Binary => true
    case ShortDecimal(_) | WideDecimal(_)                                  => true
    case YearMonthInterval | DayTimeInterval                               => true
  }
}

/** What the types of a join's keys say of its price. */
object KeyTypes {

  /** Whether hash joins look the key up as one number: Spark's `HashJoin.rewriteKeyExpr`, without its packing of several. */
  def areNumber(types: Seq[DataType]): Boolean = types.size == 1 && types.forall(KeyKind.of(_).contains(KeyKind.Integral))

  /** Whether a hash join looks its key up as a row, or checks a condition for every match: either takes longer than to look a number up. */
  def areLookedUpByRow(join: HashJoin): Boolean = !areNumber(join.leftKeys.map(_.dataType)) || join.condition.isDefined

  /** The facts of keys of these types. A range holds no keys. */
  def noted(keys: KeyFacts, types: Seq[DataType]): KeyFacts =
    if (keys.asRange || types.size != 1) keys
    else keys.copy(byRow = !areNumber(types), hashed = types.exists(KeyKind.of(_).exists(!_.isInteger)))
}

/** A join key that is a column, below lossless casts and what Spark itself puts around keys of some types. */
final case class PlainKey(attribute: Attribute, kind: KeyKind)

object PlainKey {

  /** Removes lossless casts from `key`. Any other expression is rejected. */
  def of(key: Expression): Either[Reason, PlainKey] = for {
    _ <- kindOf(key)
    attribute <- column(key).toRight(Reason(ReasonCode.KeyNotPlain))
    kind <- KeyKind.of(attribute.dataType)
  } yield PlainKey(attribute, kind)

  /** The kind of a key's values. That of a collation key is its string's: their codes are equal. */
  private[observe] def kindOf(key: Expression): Either[Reason, KeyKind] = key match {
    case CollationKey(of) => KeyKind.of(of.dataType)
    case other            => KeyKind.of(other.dataType)
  }

  private def column(key: Expression): Option[Attribute] = key match {
    case a: Attribute => Some(a)
    // In a join key, Spark makes values equal whose codes are equal.
    case CollationKey(a: Attribute)                            => Some(a)
    case KnownFloatingPointNormalized(NormalizeNaNAndZero(of)) => column(of)
    case c: Cast if losesNothing(c.child.dataType, c.dataType) => column(c.child)
    case _                                                     => None
  }

  /** Whether values are equal after the cast exactly when their codes are equal before it. */
  private def losesNothing(from: DataType, to: DataType): Boolean = (from, to) match {
    case (ByteType | ShortType | IntegerType | LongType, ByteType | ShortType | IntegerType | LongType) =>
      from.defaultSize <= to.defaultSize
    case (f: DecimalType, t: DecimalType) => f.scale == t.scale && f.precision <= t.precision && t.precision <= Decimal.MAX_LONG_DIGITS
    case (FloatType, DoubleType)          => true
    case _                                => from == to
  }
}
