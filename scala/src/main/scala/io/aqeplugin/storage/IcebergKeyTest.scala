package io.aqeplugin.storage

import java.math.{BigDecimal => JavaDecimal, BigInteger}
import java.nio.{ByteBuffer, ByteOrder}
import java.util.{Map => JavaMap}

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.exec.ColumnKeys

/** Whether data files may hold keys, by Iceberg's statistics of a column, which are right or missing.
  *
  * @param id
  *   of the column's field
  */
private[storage] final class IcebergKeyTest(table: AnyRef, id: AnyRef) {
  import IcebergKeyTest._

  private val fileOf = IcebergMembers.interface(table, "ContentScanTask").getMethod("file")
  private val (lower, upper) = (statistic("lowerBounds"), statistic("upperBounds"))
  private val (values, nulls) = (statistic("valueCounts"), statistic("nullValueCounts"))

  /** False for a task if no row of its file has one of the keys, given by their codes. */
  def ofWholes(kind: IcebergWholes, keys: ColumnKeys): AnyRef => Boolean = {
    val meets = KeyMeeting.of(keys.values.fold(keys.ranges)(_.map(key => (key, key))).toIndexedSeq)
    mayHold { (lower, upper) =>
      val (low, high) = (lower.flatMap(kind.code), upper.flatMap(kind.code))
      def ofImported = ImportedMillis.ofBounds(low, high).exists { case (from, upTo) => meets(from, upTo) }
      meets(low, high) || kind.areTimes && ofImported
    }
  }

  /** False for a task if no row of its file has one of the texts, which are UTF-8. */
  def ofTexts(texts: Seq[UTF8String]): AnyRef => Boolean = {
    val meets = KeyMeeting.of(texts.sorted.map(text => (text, text)).toIndexedSeq)
    mayHold((low, high) => meets(low.map(atLeast), high.map(atMost)))
  }

  private def mayHold(meets: (Option[ByteBuffer], Option[ByteBuffer]) => Boolean)(task: AnyRef): Boolean = {
    val file = fileOf.invoke(task)
    val hasOnlyNulls = nulls(file).exists(values(file).contains)
    !hasOnlyNulls && meets(bound(lower(file)), bound(upper(file)))
  }

  private def statistic(name: String): AnyRef => Option[Any] = {
    val method = IcebergMembers.interface(table, "ContentFile").getMethod(name)
    file =>
      method.invoke(file) match {
        case known: JavaMap[_, _] => Option(known.get(id))
        case _                    => None
      }
  }

  private def bound(found: Option[Any]): Option[ByteBuffer] = found.collect { case bytes: ByteBuffer => bytes.duplicate() }
}

private[storage] object IcebergKeyTest {

  // Iceberg decodes the bounds of row groups before it compares them, and bytes that are not UTF-8 become a character that is greater than
  // most. In each order what begins with ASCII characters is where it is in Spark's.
  private def atLeast(bound: ByteBuffer): UTF8String = UTF8String.fromBytes(ascii(bound))

  private def atMost(bound: ByteBuffer): UTF8String = {
    val (size, begin) = (bound.remaining, ascii(bound))
    UTF8String.fromBytes(if (begin.length == size) begin else begin :+ TextBounds.AfterAll)
  }

  private def ascii(bound: ByteBuffer): Array[Byte] = {
    val bytes = new Array[Byte](bound.remaining)
    val _ = bound.get(bytes)
    bytes.takeWhile(_ >= 0)
  }
}

/** A type of Iceberg whose values are whole numbers to the plugin.
  *
  * @param value
  *   of a code, as Iceberg's conditions take it; none if the type has no such value
  * @param code
  *   of a bound; none if it is not known
  * @param areTimes
  *   whether imported files may have milliseconds in their place ([[ImportedMillis]])
  * @param far
  *   below its negative, conditions no longer begin
  * @param mayOverflow
  *   whether rows at the ends of the type may be in any partition
  */
private[storage] final case class IcebergWholes(
    value: Long => Option[AnyRef],
    code: ByteBuffer => Option[Long],
    areTimes: Boolean,
    far: Long,
    mayOverflow: Boolean = false
) {

  /** The least value of a range of keys; none if the range is open there, or so far off that transforms of partitions overflow: `truncate` at the lower
    * end of a type, `hours` at both.
    */
  def least(code: Long): Option[AnyRef] = Some(code).filter(_ > -far).flatMap(value)

  /** Likewise the greatest. */
  def greatest(code: Long): Option[AnyRef] = Some(code).filter(_ < IcebergWholes.FarOfLongs).flatMap(value)

  /** The same for partitions by a transform that overflows, of a column that may have been of fewer bits when rows were written. */
  def overflowing: IcebergWholes = copy(far = if (areTimes) far else IcebergWholes.FarOfInts, mayOverflow = true)
}

private[storage] object IcebergWholes {

  /** None if the type of a column in Spark is not the one for its type in Iceberg, or its values have no such order. */
  def of(icebergType: String, dataType: DataType): Option[IcebergWholes] = {
    val value: Option[Long => Option[AnyRef]] = (icebergType, dataType) match {
      case ("int", IntegerType) | ("date", DateType) => Some(code => Option.when(code == code.toInt)(Integer.valueOf(code.toInt)))
      case ("long", LongType) | ("timestamptz", TimestampType) | ("timestamp", TimestampNTZType)          => Some(boxed)
      case (_, decimal: DecimalType) if icebergType == s"decimal(${decimal.precision}, ${decimal.scale})" =>
        Some(code => Option.when(KnownKeys.fits(code, decimal.precision))(JavaDecimal.valueOf(code, decimal.scale)))
      case _ => None
    }
    val far = dataType match {
      case IntegerType | DateType => FarOfInts
      case _                      => FarOfLongs
    }
    val areTimes = dataType == TimestampType || dataType == TimestampNTZType
    for (of <- value; code <- codeOf(icebergType)) yield IcebergWholes(of, code, areTimes, far)
  }

  private val FarOfInts = 1L << 30
  private val FarOfLongs = 1L << 62

  /** What the bound of a column of such a type is as a whole number, in the units of Spark's type; none if values are no such numbers. */
  def codeOf(icebergType: String): Option[ByteBuffer => Option[Long]] = icebergType match {
    // A column that is wider now has the bounds of its old type, never the reverse.
    case "int" | "date" | "long"                                            => Some(whole(_, mayBeInt = true))
    case "timestamptz" | "timestamp"                                        => Some(whole(_, mayBeInt = false))
    case DecimalOf(precision) if precision.toInt <= Decimal.MAX_LONG_DIGITS => Some(unscaled)
    case _                                                                  => None
  }

  private val DecimalOf = """decimal\((\d+), .*""".r

  private def boxed(code: Long): Option[AnyRef] = Some(java.lang.Long.valueOf(code))

  private def whole(bound: ByteBuffer, mayBeInt: Boolean): Option[Long] = {
    val bytes = bound.order(ByteOrder.LITTLE_ENDIAN)
    bytes.remaining match {
      case java.lang.Long.BYTES                => Some(bytes.getLong)
      case java.lang.Integer.BYTES if mayBeInt => Some(bytes.getInt.toLong)
      case _                                   => None
    }
  }

  private def unscaled(bound: ByteBuffer): Option[Long] = {
    val bytes = new Array[Byte](bound.remaining)
    val _ = bound.get(bytes)
    Option.when(bytes.nonEmpty)(new BigInteger(bytes)).filter(_.bitLength < java.lang.Long.SIZE).map(_.longValue)
  }
}
