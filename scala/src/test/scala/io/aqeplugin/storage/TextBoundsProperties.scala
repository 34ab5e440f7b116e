package io.aqeplugin.storage

import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class TextBoundsProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  // Few letters, so that texts begin alike; some are longer than what is kept of them.
  private val texts: Gen[UTF8String] = for {
    start <- Gen.oneOf("", "a", "aaaaaaaaaaaaaaaaaaaa")
    rest <- Gen.stringOf(Gen.oneOf('a', 'b', '\u00e9'))
  } yield UTF8String.fromString(start + rest)

  private val ranges: Gen[(UTF8String, UTF8String)] =
    for (a <- texts; b <- texts) yield if (a.compareTo(b) <= 0) (a, b) else (b, a)

  private def cut(text: UTF8String): UTF8String = UTF8String.fromBytes(text.getBytes.take(16))

  test("a row group that has a text of a range is not left out, though beginnings are compared") {
    forAll(ranges, Gen.nonEmptyListOf(ranges)) { case ((min, max), keys) =>
      val meets = keys.exists { case (low, high) => low.compareTo(max) <= 0 && min.compareTo(high) <= 0 }
      val left = TextBounds.shareLeftOut(Seq(Some((cut(min), cut(max)))), keys)
      if (meets) assert(left == 0.0)
      else if (keys.forall { case (low, high) => Seq(min, max, low, high).forall(_.numBytes <= 16) }) assert(left == 1.0)
    }
  }

  test("row groups without bounds may have any text") {
    val key = UTF8String.fromString("k")
    val apart = Some((UTF8String.fromString("x"), UTF8String.fromString("z")))
    assert(TextBounds.shareLeftOut(Seq(None, apart, None, apart), Seq((key, key))) == 0.5)
    assert(TextBounds.shareLeftOut(Nil, Seq((key, key))) == 0.0)
  }
}
