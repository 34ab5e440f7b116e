package io.aqeplugin.conf

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class ConfSyntaxProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  test("rendered sizes, integers and decimals parse to the same value") {
    forAll(Gen.choose(0L, Long.MaxValue)) { value =>
      assert(ConfSyntax.Bytes.parse(ConfSyntax.Bytes.render(value)).contains(value))
      assert(ConfSyntax.Whole.parse(ConfSyntax.Whole.render(value)).contains(value))
    }
    forAll(Gen.double)(value => assert(ConfSyntax.Number.parse(ConfSyntax.Number.render(value)).contains(value)))
  }

  test("no text makes a parser throw") {
    forAll { (text: String) =>
      AqeConf.All.foreach(_.parse(text))
      succeed
    }
  }
}
