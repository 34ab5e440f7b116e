package io.aqeplugin.filters

import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class CodeRangeSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  test("bitmap bytes of the whole code space do not overflow") {
    assert(CodeRange(Long.MinValue, Long.MaxValue).bitmapBytes == (1L << 61))
    assert(CodeRange(Long.MaxValue, Long.MaxValue).bitmapBytes == 8L)
    assert(CodeRange(Long.MinValue, Long.MinValue).bitmapBytes == 8L)
    assert(CodeRange(-1, 0).bitmapBytes == 16L)
    assert(CodeRange(0, 63).bitmapBytes == 8L)
    assert(CodeRange(0, 64).bitmapBytes == 16L)
  }

  test("bitmap bytes are positive and grow with the range") {
    forAll(KeySets.code, KeySets.code, KeySets.code) { (a, b, c) =>
      val ab = CodeRange(math.min(a, b), math.max(a, b))
      val abc = ab.union(CodeRange(c, c))
      assert(ab.bitmapBytes > 0 && abc.bitmapBytes >= ab.bitmapBytes)
      assert(Seq(a, b, c).forall(abc.contains))
    }
  }

  test("the union of a range with no range is the range") {
    val range = CodeRange(1, 2)
    assert(CodeRange.union(None, Some(range)).contains(range) && CodeRange.union(Some(range), None).contains(range))
    assert(CodeRange.union(None, None).isEmpty)
    assert(CodeRange.union(Some(range), Some(CodeRange(-5, 1))).contains(CodeRange(-5, 2)))
  }

  test("a range that ends before it starts is rejected") {
    assert(intercept[IllegalArgumentException](CodeRange(2, 1)).getMessage.contains("empty code range [2, 1]"))
  }
}
