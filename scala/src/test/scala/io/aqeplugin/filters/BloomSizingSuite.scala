package io.aqeplugin.filters

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class BloomSizingSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val rates = Gen.choose(math.log(FilterLimits.MinFalsePositiveRate), math.log(FilterLimits.MaxFalsePositiveRate)).map(math.exp)

  test("the chosen number of blocks meets the rate with less than 10 % to spare") {
    forAll(Gen.choose(1000L, 1000000000L), rates) { (keys, rate) =>
      val blocks = BloomSizing.blocksFor(keys, rate)
      assert(BloomSizing.falsePositiveRate(keys, blocks) <= rate * 1.000001)
      // One granule fewer, under one percent of the blocks, would exceed the rate.
      assert(blocks < 100 || BloomSizing.falsePositiveRate(keys, (blocks * 0.97).toLong) > rate)
    }
  }

  test("more keys or a lower rate never need fewer blocks") {
    forAll(Gen.choose(0L, 1000000000L), Gen.choose(0L, 1000000000L), rates, rates) { (n, m, p, q) =>
      assert(BloomSizing.bytesFor(math.min(n, m), p) <= BloomSizing.bytesFor(math.max(n, m), p) * 1.01)
      assert(BloomSizing.bytesFor(n, math.max(p, q)) <= BloomSizing.bytesFor(n, math.min(p, q)) * 1.01)
    }
  }

  test("sizes are defined for no key, one key and more keys than bytes exist") {
    assert(BloomSizing.bytesFor(0, 0.01) == 32L && BloomSizing.bytesFor(1, 0.01) == 32L)
    assert(BloomSizing.bytesFor(Long.MaxValue, 1e-4) == Long.MaxValue)
    assert(BloomSizing.falsePositiveRate(0, 1) == 0.0)
    assert(BloomSizing.falsePositiveRate(Long.MaxValue, 1) == 1.0)
  }

  test("a false-positive rate of 1 % costs 11 to 11.2 bits per key") {
    val bitsPerKey = BloomSizing.bytesFor(1000000, 0.01) * 8 / 1e6
    assert(bitsPerKey > 11 && bitsPerKey < 11.2)
  }

  test("the number of blocks of a large filter can be halved ten times") {
    assert(BloomSizing.blocksFor(10000000, 0.01) % 1024 == 0)
  }
}
