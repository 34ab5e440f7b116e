package io.aqeplugin.storage

import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

class IcebergWholesSuite extends AnyFunSuite {
  private def wholes(icebergType: String, dataType: DataType): IcebergWholes =
    IcebergWholes.of(icebergType, dataType).getOrElse(fail(s"$icebergType has no whole numbers"))

  test("a decimal that its column has no room for is in no condition") {
    val decimals = wholes("decimal(9, 2)", DecimalType(9, 2))
    assert(decimals.value(999999999L).isDefined)
    assert(decimals.value(1000000000L).isEmpty && decimals.value(Long.MinValue).isEmpty)
  }

  test("a condition has no end where a range is open, or where transforms of partitions overflow") {
    val longs = wholes("long", LongType)
    assert(longs.least(Long.MinValue).isEmpty && longs.least(Long.MinValue + 1).isEmpty && longs.least(-5L).contains(-5L))
    assert(longs.greatest(Long.MaxValue).isEmpty && longs.greatest(Long.MaxValue - 1).isEmpty && longs.greatest(5L).contains(5L))
    val ints = wholes("int", IntegerType)
    assert(longs.overflowing.least(Int.MinValue + 1L).isEmpty && longs.overflowing.mayOverflow && !longs.mayOverflow)
    assert(ints.least(Int.MinValue + 1L).isEmpty && ints.greatest(Int.MaxValue.toLong).contains(Int.MaxValue))
  }

  test("keys have the milliseconds of imported files in their place, if a file can have them") {
    assert(ImportedMillis.ofKey(1704067200123000L).contains(1704067200123L) && ImportedMillis.ofKey(1704067200123001L).isEmpty)
    assert(ImportedMillis.ofKey(Long.MaxValue / 1000 * 1000).isEmpty)
    assert(ImportedMillis.ofRange((1704067200123001L, Long.MaxValue)).exists { case (low, high) =>
      low == 1704067200123L && high < Long.MaxValue
    })
    assert(ImportedMillis.ofBounds(Some(1704067200123L), None).contains((Some(1704067200123000L), None)))
    assert(ImportedMillis.ofBounds(Some(1704067200123000L), Some(1704067200123000L)).isEmpty)
  }
}
