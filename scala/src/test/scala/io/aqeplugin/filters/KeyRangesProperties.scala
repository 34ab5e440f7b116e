package io.aqeplugin.filters

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class KeyRangesProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val code: Gen[Long] = Gen.frequency(
    5 -> Gen.choose(-50L, 50L),
    3 -> Gen.choose(-100000L, 100000L),
    1 -> Gen.choose(Long.MinValue, Long.MaxValue),
    1 -> Gen.oneOf(Long.MinValue, Long.MinValue + 1, -1L, 0L, Long.MaxValue)
  )
  private val codes: Gen[Array[Long]] = Gen.listOf(code).map(_.distinct.sorted.toArray)
  private val most: Gen[Int] = Gen.choose(1, 6)

  /** How many codes between the first and the last one the ranges leave out. */
  private def leftOut(ranges: Seq[CodeRange]): BigInt =
    ranges.zip(ranges.drop(1)).map { case (a, b) => BigInt(b.min) - BigInt(a.max) - 1 }.sum

  test("the ranges hold every code, are at most so many, ascend and do not touch") {
    forAll(codes, most) { (codes, most) =>
      val ranges = KeyRanges.of(codes, most)
      assert(ranges.size <= most)
      assert(codes.forall(code => ranges.count(_.contains(code)) == 1))
      assert(ranges.zip(ranges.drop(1)).forall { case (a, b) => BigInt(a.max) + 1 < BigInt(b.min) })
    }
  }

  test("each range ends at codes") {
    forAll(codes, most) { (codes, most) =>
      assert(KeyRanges.of(codes, most).flatMap(range => Seq(range.min, range.max)).forall(codes.contains))
    }
  }

  test("no other ranges of the same number leave out more") {
    forAll(codes, most) { (codes, most) =>
      val gaps = codes.toSeq.zip(codes.toSeq.drop(1)).map { case (a, b) => BigInt(b) - BigInt(a) - 1 }
      assert(leftOut(KeyRanges.of(codes, most)) == gaps.sorted.reverse.take(most - 1).sum)
    }
  }
}
