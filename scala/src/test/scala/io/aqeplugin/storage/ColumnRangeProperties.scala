package io.aqeplugin.storage

import java.time.ZoneId

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** No value of a column whose key is in a range lies outside of the column's range. */
class ColumnRangeProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val Zones = ZoneId.getAvailableZoneIds.asScala.toSeq.sorted
  private val Formats = Seq("MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")

  // Around the middle of the nineteenth century zones changed by up to a day.
  private val micros = Gen.choose(-5000000000000000L, 5000000000000000L)

  private def column(dataType: DataType): AttributeReference = AttributeReference("c", dataType)()

  /** @param value
    *   a value of the column, of which the key is computed
    * @param width
    *   of the range that has this key
    */
  private def holds(key: Expression, of: AttributeReference, value: Any, width: Long): Unit = {
    val bound = key.transform { case a: Attribute => BoundReference(0, a.dataType, nullable = true) }
    val code = number(bound.eval(InternalRow(value)))
    val known = ColumnRange.of(key, Seq((code - width, code), (code, code + width)))
    known.foreach { case (low, high) =>
      assert(low <= number(value) && number(value) <= high, s"$key of ${of.dataType}: $value is not in $known")
    }
  }

  private def number(value: Any): Long = value match {
    case days: Int  => days.toLong
    case long: Long => long
    case other      => fail(s"$other is no number")
  }

  test("the date of a time, in every time zone") {
    forAll(micros, Gen.oneOf(Zones), Gen.choose(0L, 9L)) { (time, zone, width) =>
      val ts = column(TimestampType)
      val key = Cast(ts, DateType, Some(zone))
      assert(ColumnRange.of(key, Seq((0L, 9L))).isDefined)
      holds(key, ts, time, width)
    }
  }

  test("the date of a time without a time zone") {
    forAll(micros, Gen.choose(0L, 9L)) { (time, width) =>
      val ts = column(TimestampNTZType)
      holds(Cast(ts, DateType, Some("UTC")), ts, time, width)
    }
  }

  test("a truncated time, in every time zone") {
    forAll(micros, Gen.oneOf(Zones), Gen.oneOf(Formats), Gen.choose(0L, 9L)) { (time, zone, format, width) =>
      val ts = column(TimestampType)
      val key = TruncTimestamp(Literal(format), ts, Some(zone))
      assert(ColumnRange.of(key, Seq((0L, 9L))).isDefined)
      holds(key, ts, time, width)
    }
  }

  test("a truncated date") {
    forAll(Gen.choose(-900000, 900000), Gen.oneOf("WEEK", "MONTH", "QUARTER", "YEAR"), Gen.choose(0L, 9L)) { (day, format, width) =>
      val date = column(DateType)
      holds(TruncDate(date, Literal(format)), date, day, width)
    }
  }

  test("sums and differences, also those that wrap around") {
    val numbers = Gen.oneOf(Gen.choose(Int.MinValue, Int.MaxValue), Gen.oneOf(Int.MinValue, Int.MaxValue, 0))
    // Its arguments for a mode differ between the lines.
    def wrapping(key: => Expression): Expression = SQLConf.withExistingConf {
      val conf = new SQLConf
      conf.setConf(SQLConf.ANSI_ENABLED, false)
      conf
    }(key)
    forAll(numbers, numbers, Gen.choose(0L, 9L)) { (value, by, width) =>
      val int = column(IntegerType)
      val long = column(LongType)
      holds(wrapping(Add(int, Literal(by))), int, value, width)
      holds(wrapping(Subtract(int, Literal(by))), int, value, width)
      holds(wrapping(Add(long, Literal(by.toLong << 32))), long, value.toLong << 32, width)
      holds(wrapping(Subtract(long, Literal(by.toLong << 32))), long, value.toLong << 32, width)
    }
  }

  test("nothing is known of other keys, and of no keys") {
    val ts = column(TimestampType)
    assert(ColumnRange.of(Cast(ts, DateType, Some("UTC")), Nil).isEmpty)
    assert(ColumnRange.of(Cast(ts, DateType, Some("UTC")), Seq((Long.MinValue, Long.MaxValue))).isEmpty)
    assert(ColumnRange.of(Upper(column(StringType)), Seq((0L, 9L))).isEmpty)
    assert(ColumnRange.of(TruncTimestamp(Literal("never"), ts, Some("UTC")), Seq((0L, 9L))).isEmpty)
    assert(ColumnRange.of(Cast(column(StringType), DateType, Some("UTC")), Seq((0L, 9L))).isEmpty)
  }
}
