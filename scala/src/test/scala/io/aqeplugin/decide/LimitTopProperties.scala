package io.aqeplugin.decide

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** The files for the first rows of a sorted table, against the sorted rows themselves. */
class LimitTopProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration = PropertyCheckConfiguration(minSuccessful = 3000)

  private type Value = Option[Long]
  private val value: Gen[Value] = Gen.frequency(
    1 -> Gen.const(None),
    5 -> Gen.frequency(
      8 -> Gen.choose(-6L, 6L),
      1 -> Gen.oneOf(Long.MinValue, Long.MaxValue)
    ).map(Some(_))
  )
  private val file: Gen[(Vector[Value], Boolean, Boolean)] =
    Gen.zip(Gen.choose(0, 5).flatMap(Gen.containerOfN[Vector, Value](_, value)), Gen.prob(0.85), Gen.prob(0.8))
  private val tables: Gen[Vector[(Vector[Value], Boolean, Boolean)]] =
    Gen.choose(1, 7).flatMap(Gen.containerOfN[Vector, (Vector[Value], Boolean, Boolean)](_, file))

  private def factsOf(values: Vector[Value], nullsKnown: Boolean): KeyedFile = KeyedFile(
    values.size.toLong,
    Option.when(values.flatten.nonEmpty)((values.flatten.min, values.flatten.max)),
    Option.when(nullsKnown || values.flatten.isEmpty)(values.count(_.isEmpty).toLong)
  )

  private def order(descending: Boolean, nullsFirst: Boolean): Ordering[Value] = (a, b) =>
    (a, b) match {
      case (Some(x), Some(y)) => if (descending) y.compare(x) else x.compare(y)
      case (None, None)       => 0
      case (None, _)          => if (nullsFirst) -1 else 1
      case (_, None)          => if (nullsFirst) 1 else -1
    }

  private def forAllChoices(check: (Vector[Vector[Value]], Int, Ordering[Value], Boolean, TopFiles) => Any): Unit =
    forAll(tables, Gen.choose(1, 12), Gen.prob(0.5), Gen.prob(0.5)) { (table, rows, descending, nullsFirst) =>
      val facts = table.map { case (values, known, nullsKnown) => Option.when(known)(factsOf(values, nullsKnown)) }
      TopFiles.of(facts, rows.toLong, descending, nullsFirst).foreach { choice =>
        check(table.map(_._1), rows, order(descending, nullsFirst), nullsFirst, choice)
      }
    }

  test("the kept files hold the first rows, ties with the last of them included") {
    forAllChoices { (table, rows, order, _, choice) =>
      val sorted = table.flatten.sorted(order)
      assert(sorted.size >= rows)
      val last = sorted(rows - 1)
      val needed = table.indices.filter(i => table(i).exists(order.lteq(_, last)))
      assert(needed.forall(choice.kept.contains), (table, choice))
    }
  }

  test("the first rows are sorted before the bound or equal to it") {
    forAllChoices { (table, rows, order, _, choice) =>
      choice.bound.foreach(bound => assert(order.lteq(table.flatten.sorted(order).apply(rows - 1), Some(bound))))
    }
  }

  test("of files that follow each other only the first ones are kept") {
    val clustered = (0 until 100).map(i => Option(KeyedFile(1000, Some((i * 10L, i * 10L + 9)), Some(0))))
    assert(TopFiles.of(clustered, 100, descending = false, nullsFirst = true).map(_.kept).contains(Seq(0)))
    assert(TopFiles.of(clustered, 1500, descending = true, nullsFirst = false).map(_.kept).contains(Seq(98, 99)))
  }

  test("without enough rows in the known files there is no bound") {
    val files = Vector(Some(KeyedFile(10, Some((1, 2)), Some(8))), None)
    assert(TopFiles.of(files, 3, descending = false, nullsFirst = false).isEmpty)
    assert(TopFiles.of(files, 2, descending = false, nullsFirst = false).contains(TopFiles(Seq(0, 1), Some(2))))
    assert(TopFiles.of(Vector.empty, 1, descending = false, nullsFirst = false).isEmpty)
  }
}
