package io.aqeplugin.decide

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.e2e.Extent
import io.aqeplugin.limit.Proof

/** The truth values that statistics allow, against those of the rows themselves. */
class LimitTruthsProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration = PropertyCheckConfiguration(minSuccessful = Extent.inputs(2000))

  private type Value = Option[Long]
  private val value: Gen[Value] = Gen.frequency(1 -> Gen.const(None), 4 -> Gen.choose(-3L, 3L).map(Some(_)))
  private val columns: Gen[List[(Value, Value)]] = Gen.choose(1, 6).flatMap(Gen.listOfN(_, Gen.zip(value, value)))

  private def rangeOf(values: Seq[Value]): ValueRange =
    ValueRange(Option.when(values.flatten.nonEmpty)((values.flatten.min, values.flatten.max)), values.contains(None))

  private def contains(truths: Truths, of: Option[Boolean]): Boolean = of match {
    case Some(true)  => truths.canBeTrue
    case Some(false) => truths.canBeFalse
    case None        => truths.canBeNull
  }

  private val comparisons: Seq[(String, (ValueRange, ValueRange) => Truths, (Long, Long) => Boolean)] =
    Seq(("<", _ < _, _ < _), ("<=", _ <= _, _ <= _), ("=", _ === _, _ == _))

  for ((name, ofRanges, ofValues) <- comparisons)
    test(s"$name: no value of a row is missing from those of the ranges") {
      forAll(columns) { rows =>
        val truths = ofRanges(rangeOf(rows.map(_._1)), rangeOf(rows.map(_._2)))
        rows.foreach { case (a, b) => assert(contains(truths, for (l <- a; r <- b) yield ofValues(l, r)), (rows, truths)) }
      }
    }

  test("a comparison with a constant is proven for all rows exactly when it is true for all") {
    forAll(columns, Gen.choose(-4L, 4L)) { (rows, constant) =>
      val values = rows.map(_._1)
      val proven = Proof.of(rangeOf(values) <= ValueRange.constant(constant)) == Proof.AllMatch
      assert(proven == values.forall(_.exists(_ <= constant)))
    }
  }

  test("IN a list: no row's value is missing, and a list of one is an equality") {
    forAll(columns, Gen.nonEmptyListOf(value)) { (rows, list) =>
      val values = rows.map(_._1)
      def isIn(list: Seq[Value]): Truths = rangeOf(values).isIn(list.flatten.toVector.sorted, list.contains(None))
      values.foreach { v =>
        val expected = if (v.isEmpty) None else if (list.contains(v)) Some(true) else if (list.contains(None)) None else Some(false)
        assert(contains(isIn(list), expected), (values, list))
      }
      list.flatten.foreach(one => assert(isIn(Seq(Some(one))) == (rangeOf(values) === ValueRange.constant(one)), (values, one)))
    }
  }

  test("a null test is right for every mix of nulls and values") {
    forAll(columns)(rows => rows.map(_._1).foreach(v => assert(contains(rangeOf(rows.map(_._1)).isNull, Some(v.isEmpty)))))
  }

  private val single: Gen[Option[Boolean]] = Gen.oneOf(Some(true), Some(false), None)
  private def only(value: Option[Boolean]): Truths = value.fold(Truths.Null)(Truths.of)

  test("AND, OR and NOT follow three-valued logic") {
    forAll(single, single) { (a, b) =>
      val and = if (a.contains(false) || b.contains(false)) Some(false) else if (a.isEmpty || b.isEmpty) None else Some(true)
      val or = if (a.contains(true) || b.contains(true)) Some(true) else if (a.isEmpty || b.isEmpty) None else Some(false)
      assert((only(a) && only(b)) == only(and))
      assert((only(a) || only(b)) == only(or))
      assert(!only(a) == only(a.map(!_)))
    }
  }

  test("a value that may be anything proves nothing, and false proves that no row matches") {
    assert(Proof.of(Truths.Any) == Proof.Unknown)
    assert(Proof.of(Truths.Null) == Proof.NoneMatch)
    assert(Proof.of(Truths.of(false)) == Proof.NoneMatch)
    assert(Proof.of(Truths.of(true) || Truths.Any) == Proof.AllMatch)
  }
}
