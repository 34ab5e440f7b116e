package io.aqeplugin.storage

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{InSubqueryExec, SparkPlan, SubqueryExec}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.exec.{ColumnKeys, KeyRowsExec}

/** The keys of a finished build side, as conditions on the column of a scan. All rows that the query needs fulfil each of them.
  *
  * @param column
  *   the scan's own attribute
  * @param inListMaxKeys
  *   at most so many keys are listed for readers of files, which compare a list value by value
  * @param isWholeKey
  *   whether the key has no other column, so that the filter was chosen because these values leave out much
  */
private[storage] final case class KnownKeys(column: Attribute, built: ColumnKeys, inListMaxKeys: Int, isWholeKey: Boolean) {

  /** All keys as literals of the column's type; none when they are unknown, or when one of them does not fit, which happens when a narrow
    * column is joined to a wider one.
    */
  lazy val literals: Option[Seq[Literal]] = column.dataType match {
    case StringType => built.texts.filter(_.nonEmpty).map(_.map(Literal(_, StringType))).filter(_.forall(SourceLiterals.isKept))
    case _          => built.values.filter(_.nonEmpty).flatMap { codes =>
        val made = codes.map(KnownKeys.kept(_, column.dataType))
        Option.when(made.forall(_.isDefined))(made.flatten)
      }
  }

  /** Whether the column holds texts. */
  def areTexts: Boolean = column.dataType == StringType

  /** Whether all keys are listed as texts of ASCII alone. These compare with bounds that are kept as texts as they do with the values: where bytes
    * that are no UTF-8 have become U+FFFD, where characters are in the order of UTF-16, and where a maximum was cut and its last character
    * raised, or another one added, what differs is above ASCII in either.
    */
  def areAscii: Boolean =
    areTexts && literals.exists(_.forall(text => PartialFunction.cond(text.value) { case known: UTF8String => TextBounds.isAscii(known) }))

  /** The column holds one of the keys, by a set that is searched once a value; none for more than `most` keys. */
  def isListed(most: Int): Option[Expression] = literals.filter(_.size <= most).map(isOneOf)

  /** The column holds one of some values, by a set that is searched once a value. */
  def isOneOf(values: Seq[Literal]): Expression = InSet(column, values.map(_.value).toSet)

  /** The same as a filter whose values Spark takes when the scan starts. */
  def isListedAtRunTime: Option[Expression] = literals.map(found => isAmong(found.map(_.value)))

  /** The column holds one of some values, as a filter whose values Spark takes when the scan starts. */
  def isAmong(values: Seq[Any]): Expression = {
    val rows: SparkPlan = KeyRowsExec(Seq(column), values)
    DynamicPruningExpression(InSubqueryExec(column, SubqueryExec("keys of a runtime filter", rows, None), NamedExpression.newExprId))
  }

  /** The filter may contain the column's value: of any type, and for any number of keys, but evaluated on the driver alone. */
  def mayBe: Option[MayBeKey] = built.small.map(MayBeKey(column, _))

  /** The column holds a value in one of the ranges that hold all keys; none if that says nothing. */
  def isInRanges: Option[Expression] = if (areTexts) isInTextRanges else isInValueRanges

  private def isInTextRanges: Option[Expression] = literals.flatMap { _ =>
    built.textRanges.map { case (low, high) =>
      And(GreaterThanOrEqual(column, Literal(low, StringType)), LessThanOrEqual(column, Literal(high, StringType)))
    }.reduceOption[Expression](Or(_, _))
  }

  private def isInValueRanges: Option[Expression] = {
    val each = built.ranges.map { case (low, high) =>
      // One end alone is right too: the other may lie outside of the column's type.
      val from = Some(low).filter(_ > Long.MinValue).flatMap(KnownKeys.kept(_, column.dataType)).map(GreaterThanOrEqual(column, _))
      val upTo = Some(high).filter(_ < Long.MaxValue).flatMap(KnownKeys.kept(_, column.dataType)).map(LessThanOrEqual(column, _))
      (from ++ upTo).reduceOption[Expression](And(_, _))
    }
    if (each.forall(_.isDefined)) each.flatten.reduceOption[Expression](Or(_, _)) else None
  }
}

private[storage] object KnownKeys {

  /** A key code as a literal that has the same meaning for a source and in all of its files. */
  def kept(code: Long, dataType: DataType): Option[Literal] = literal(code, dataType).filter(SourceLiterals.isKept)

  /** A key code as a literal; none when it does not fit the type. */
  def literal(code: Long, dataType: DataType): Option[Literal] = dataType match {
    case LongType | TimestampType | TimestampNTZType                                         => Some(Literal(code, dataType))
    case IntegerType | DateType if code == code.toInt                                        => Some(Literal(code.toInt, dataType))
    case ShortType if code == code.toShort                                                   => Some(Literal(code.toShort, dataType))
    case ByteType if code == code.toByte                                                     => Some(Literal(code.toByte, dataType))
    case BooleanType                                                                         => Some(Literal(code != 0L, dataType))
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS && fits(code, d.precision) =>
      Some(Literal(Decimal(code, d.precision, d.scale), dataType))
    // Files hold microseconds, which a reader may cut for a coarser column.
    case time if time.typeName == "time(6)" => Some(Literal(code, time))
    case _                                  => None
  }

  def fits(unscaled: Long, precision: Int): Boolean = BigInt(unscaled).abs < BigInt(10).pow(precision)
}
