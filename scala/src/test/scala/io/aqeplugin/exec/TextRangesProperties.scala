package io.aqeplugin.exec

import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class TextRangesProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val texts: Gen[IndexedSeq[UTF8String]] = {
    val letters = Gen.stringOf(Gen.oneOf('a', 'b', 'z', 'é', '\u0000'))
    for {
      start <- Gen.oneOf("", "customer-")
      ends <- Gen.listOf(letters)
    } yield ends.map(end => UTF8String.fromString(start + end)).distinct.sorted.toIndexedSeq
  }

  private def isIn(text: UTF8String, range: (UTF8String, UTF8String)): Boolean =
    range._1.compareTo(text) <= 0 && text.compareTo(range._2) <= 0

  test("every text is in one of the ranges, which begin and end with a text") {
    forAll(texts, Gen.choose(1, 5)) { (sorted, most) =>
      val ranges = TextRanges.of(sorted, most)
      assert(sorted.forall(text => ranges.count(isIn(text, _)) == 1) && ranges.size <= most)
      assert(ranges.forall { case (low, high) => sorted.contains(low) && sorted.contains(high) })
    }
  }

  test("the ranges end where neighbours are far apart") {
    forAll(Gen.choose(1, 40), Gen.choose(1, 40)) { (low, high) =>
      val numbers = (0 until low) ++ (90000 until 90000 + high)
      val sorted = numbers.map(number => UTF8String.fromString(f"customer-$number%09d"))
      assert(TextRanges.of(sorted, 2) == Seq((sorted.head, sorted(low - 1)), (sorted(low), sorted.last)))
    }
  }
}
