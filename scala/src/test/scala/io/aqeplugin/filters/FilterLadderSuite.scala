package io.aqeplugin.filters

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class FilterLadderSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val limits = FilterLimits(expectedKeys = 100000, exactMaxKeys = 1000, maxFilterBytes = 1 << 20, falsePositiveRate = 0.01)
  private val bloomBytes = BloomSizing.bytesFor(100000, 0.01)
  private val wide = Some(CodeRange(Long.MinValue, Long.MaxValue))

  private def rangeOfBytes(bytes: Long) = Some(CodeRange(0, bytes * 8 - 1))

  private def choose(keys: Long, range: Option[CodeRange], integral: Boolean = true) = FilterLadder.choose(keys, range, integral, limits)

  test("without keys, the filter is the empty set") {
    assert(choose(0, None) == Right(FilterKind.Empty))
  }

  test("the exact set is used up to the limit of exact keys and not above") {
    assert(choose(1, wide) == Right(FilterKind.Exact))
    assert(choose(1000, wide) == Right(FilterKind.Exact))
    assert(choose(1001, wide) == Right(FilterKind.SplitBlockBloom))
  }

  test("few dense keys give a bitmap if it is no larger than the exact set") {
    val setBytes = ExactSet.bytesFor(500)
    assert(choose(500, rangeOfBytes(setBytes)) == Right(FilterKind.RangeBitmap))
    assert(choose(500, rangeOfBytes(setBytes + 8)) == Right(FilterKind.Exact))
    assert(choose(500, rangeOfBytes(setBytes), integral = false) == Right(FilterKind.Exact))
  }

  test("many keys give a bitmap if it is smaller than the Bloom filter") {
    assert(choose(50000, rangeOfBytes(bloomBytes - 8)) == Right(FilterKind.RangeBitmap))
    assert(choose(50000, rangeOfBytes(bloomBytes)) == Right(FilterKind.SplitBlockBloom))
    assert(choose(50000, rangeOfBytes(bloomBytes - 8), integral = false) == Right(FilterKind.SplitBlockBloom))
    assert(choose(50000, None) == Right(FilterKind.SplitBlockBloom))
  }

  test("a filter is refused one byte above the size limit, with both numbers") {
    def under(cap: Long) = FilterLadder.choose(50000, wide, integral = true, limits.copy(maxFilterBytes = cap))
    assert(under(bloomBytes) == Right(FilterKind.SplitBlockBloom))
    assert(under(bloomBytes - 1) == Left(FilterRefusal.TooManyBytes(bloomBytes, bloomBytes - 1)))
  }

  test("dense keys fit a size limit that the Bloom filter exceeds") {
    assert(FilterLadder.choose(
      50000,
      rangeOfBytes(8000),
      integral = true,
      limits.copy(maxFilterBytes = 8000)
    ) == Right(FilterKind.RangeBitmap))
  }

  test("the size limit also applies to the exact set") {
    assert(FilterLadder.exactKeys(limits.copy(maxFilterBytes = 1024)) == 64)
    assert(FilterLadder.exactKeys(limits.copy(maxFilterBytes = 0)) == 0)
    assert(FilterLadder.exactKeys(limits) == 1000)
    forAll(Gen.choose(0L, 1L << 32), Gen.choose(0, Int.MaxValue)) { (cap, exactMax) =>
      val keys = FilterLadder.exactKeys(limits.copy(maxFilterBytes = cap, exactMaxKeys = exactMax))
      assert(keys <= exactMax && (keys == 0 || ExactSet.bytesFor(keys) <= cap))
    }
  }

  test("a conf above the hard limit has the effect of the hard limit") {
    val huge = limits.copy(expectedKeys = 10000000000L, maxFilterBytes = Long.MaxValue)
    val needed = BloomSizing.bytesFor(10000000000L, 0.01)
    assert(FilterLadder.choose(50000, wide, integral = true, huge) == Left(FilterRefusal.TooManyBytes(needed, FilterLimits.HardMaxBytes)))
  }

  test("limits out of range are rejected with name, value and range") {
    def message(make: => FilterLimits) = intercept[IllegalArgumentException](make).getMessage
    assert(message(limits.copy(falsePositiveRate = 0.7)) == "falsePositiveRate is 0.7, must be between 1.0E-4 and 0.5")
    assert(message(limits.copy(falsePositiveRate = Double.NaN)).startsWith("falsePositiveRate is NaN"))
    assert(message(limits.copy(expectedKeys = -1)) == "expectedKeys is -1, must be 0 or more")
    assert(message(limits.copy(exactMaxKeys = -1)) == "exactMaxKeys is -1, must be 0 or more")
    assert(message(limits.copy(maxFilterBytes = -1)) == "maxFilterBytes is -1, must be 0 or more")
  }

  test("a part keeps exact codes while they are smaller than the Bloom filter") {
    val many = limits.copy(expectedKeys = 10000000, maxFilterBytes = 64L << 20)
    val keys = FilterLadder.partExactKeys(many)
    assert(keys > 100000 && keys < 1000000)
    assert(ExactSet.bytesFor(keys) <= BloomSizing.bytesFor(10000000, 0.01))
    assert(FilterLadder.partExactKeys(limits.copy(expectedKeys = 10)) == 1000)
    assert(FilterLadder.partExactKeys(limits.copy(expectedKeys = Long.MaxValue)) == (1 << 20) / 8 / 2)
  }
}
