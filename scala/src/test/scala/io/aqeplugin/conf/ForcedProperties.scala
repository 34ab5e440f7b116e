package io.aqeplugin.conf

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class ForcedProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val name: Gen[String] =
    Gen.nonEmptyListOf(Gen.frequency(9 -> Gen.alphaNumChar, 1 -> Gen.oneOf('_', '.', '-', '$', 'é'))).map(_.mkString)
  private val join: Gen[String] = for {
    kind <- Gen.oneOf("inner", "left_outer")
    pairs <- Gen.nonEmptyListOf(Gen.zip(name, Gen.oneOf("=", ">=", "<>"), name).map { case (left, sign, right) => left + sign + right })
    number <- Gen.oneOf("", "#2", "#13")
  } yield pairs.mkString(s"$kind:", ",", number)
  private val option: Gen[ForcedOption] = Gen.oneOf(ForcedOption.All)
  private val forced: Gen[Forced] = for {
    joins <- Gen.listOf(Gen.zip(join, option))
    others <- Gen.option(option)
  } yield if (joins.isEmpty && others.isEmpty) Forced.None else Forced(joins.toMap, others)

  private def read(text: String): Either[String, Forced] = AqeConf.Force.parse(text).left.map(_.message)

  test("every combination of joins and options is parsed from its own text") {
    forAll(forced)(value => assert(Forced.Syntax.parse(Forced.Syntax.render(value)).contains(value)))
  }

  test("blanks, line breaks, empty entries and the case of options do not matter") {
    forAll(join, option) { (id, chosen) =>
      val text = s" ;\n $id = ${chosen.name.toUpperCase} ;; * =no_filter;"
      assert(read(text) == Right(Forced(Map(id -> chosen), Some(ForcedOption.NoFilter))))
    }
  }

  test("a join has its own option, and every other join that of *") {
    val both = read("inner:a=b=broadcast;*=no_filter").fold(fail(_), identity)
    assert(both.of("inner:a=b").contains(ForcedOption.Broadcast))
    assert(both.of("inner:a=b#2").contains(ForcedOption.NoFilter))
    assert(read("inner:a=b=broadcast").exists(_.of("inner:a=c").isEmpty))
    assert(read("").exists(_.of("inner:a=b").isEmpty))
  }

  Seq(
    "inner:a=b=brodcast" -> "entry 1, 'inner:a=b=brodcast': 'brodcast' is no option",
    "*=filter; inner:a=b" -> "entry 2, 'inner:a=b': 'b' is no option",
    "broadcast" -> "entry 1, 'broadcast': it has no `=`",
    "=broadcast" -> "entry 1, '=broadcast': there is no join before the `=`",
    "*=filter;*=broadcast" -> "* is there twice"
  ).foreach { case (text, problem) =>
    test(s"'$text' is refused: $problem") {
      val message = read(text).left.getOrElse("")
      assert(message.startsWith(s"Bad value for spark.aqePlugin.force: $problem. Allowed: entries `join=option` separated by `;`"), message)
      assert(ForcedOption.All.forall(option => message.contains(option.name)))
    }
  }
}
