package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants.{MICROS_PER_DAY, MICROS_PER_HOUR}
import org.apache.spark.sql.types.{IntegerType, StringType, TimestampNTZType, TimestampType}
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.decide.EstimateSource

/** What predicates keep of a table of which only the ranges of the columns are known. */
class SelectivityProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val Low = -5
  private val High = 14
  private val x = AttributeReference("x", IntegerType)()
  private val y = AttributeReference("y", IntegerType)()
  private val name = AttributeReference("name", StringType)()
  private val facts = TableFacts(None, ranges = Map("x" -> ((Low.toLong, High.toLong)), "y" -> ((Low.toLong, High.toLong))))

  private def share(condition: Expression): Option[Double] =
    Selectivity.byRanges(condition, column => facts.ranges.get(column.name))

  private def comparison(columns: Seq[Attribute]): Gen[Expression] = for {
    column <- Gen.oneOf(columns)
    value <- Gen.oneOf(Gen.chooseNum(Low - 3, High + 3), Gen.oneOf(Int.MinValue, Int.MaxValue)).map(Literal(_))
    others <- Gen.listOf(Gen.chooseNum(Low - 3, High + 3).map(Literal(_)))
    made <- Gen.oneOf[Expression](
      EqualTo(column, value),
      EqualTo(value, column),
      LessThan(column, value),
      LessThan(value, column),
      LessThanOrEqual(column, value),
      LessThanOrEqual(value, column),
      GreaterThan(column, value),
      GreaterThan(value, column),
      GreaterThanOrEqual(column, value),
      GreaterThanOrEqual(value, column),
      In(column, value +: others)
    )
  } yield made

  private def condition(columns: Seq[Attribute], depth: Int): Gen[Expression] =
    if (depth == 0) comparison(columns)
    else {
      val inner = condition(columns, depth - 1)
      Gen.oneOf(
        comparison(columns),
        inner.map(Not(_)),
        Gen.zip(inner, inner).map { case (a, b) => And(a, b) },
        Gen.zip(inner, inner).map { case (a, b) => Or(a, b) }
      )
    }

  test("a condition keeps exactly its share of a column with every value once") {
    forAll(condition(Seq(x), 3)) { made =>
      val predicate = BindReferences.bindReference(made, AttributeSeq(Seq(x)))
      val kept = (Low to High).count(value => predicate.eval(InternalRow(value)) == true)
      assert(share(made).exists(found => math.abs(found - kept.toDouble / (High - Low + 1)) < 1e-9), made)
    }
  }

  test("of timestamps, a comparison keeps the part of the range that it has in microseconds") {
    val hours = Gen.chooseNum(-10L, 40L).map(_ * MICROS_PER_HOUR)
    forAll(hours, hours, Gen.oneOf(TimestampType, TimestampNTZType)) { (from, until, dataType) =>
      val at = AttributeReference("at", dataType)()
      val kept = Selectivity.byRanges(
        And(GreaterThanOrEqual(at, Literal(from, dataType)), LessThan(at, Literal(until, dataType))),
        _ => Some((0L, MICROS_PER_DAY - 1))
      )
      val inside = math.max(0L, math.min(until, MICROS_PER_DAY) - math.max(from, 0L))
      assert(kept.exists(found => math.abs(found - inside.toDouble / MICROS_PER_DAY) < 1e-9))
    }
  }

  test("how many rows have one of a few timestamps is unknown, as few microseconds occur") {
    val at = AttributeReference("at", TimestampType)()
    val noon = Literal(MICROS_PER_DAY / 2, TimestampType)
    Seq(EqualTo(at, noon), EqualTo(noon, at), In(at, Seq(noon)), InSet(at, Set(noon.value)), Not(EqualTo(at, noon))).foreach { condition =>
      assert(Selectivity.byRanges(condition, _ => Some((0L, MICROS_PER_DAY))).isEmpty, condition)
    }
  }

  test("a share is in [0, 1], AND keeps no more, OR no less, NOT the rest") {
    forAll(condition(Seq(x, y), 2), condition(Seq(x, y), 2)) { (one, other) =>
      val (a, both, either) = (share(one).get, share(And(one, other)).get, share(Or(one, other)).get)
      assert(Seq(a, both, either).forall(found => found >= 0 && found <= 1))
      assert(math.abs(a + share(Not(one)).get - 1) < 1e-9)
    }
    forAll(condition(Seq(x), 2), condition(Seq(y), 2)) { (one, other) =>
      assert(share(And(one, other)).get <= share(one).get + 1e-9 && share(Or(one, other)).get >= share(one).get - 1e-9)
    }
  }

  test("of a condition on a column without a range, or of another form, nothing is known") {
    val unknown = Seq(
      EqualTo(name, Literal("a")),
      LessThan(x, y),
      GreaterThan(Add(x, y), Literal(3)),
      IsNull(x),
      EqualTo(x, Literal(null, IntegerType))
    )
    forAll(condition(Seq(x), 1), Gen.oneOf(unknown)) { (known, other) =>
      assert(share(other).isEmpty && share(Or(known, other)).isEmpty && share(And(known, other)).isEmpty)
      val (found, rest) = Selectivity.of(Seq(known, other), Seq(x, y, name), facts)
      assert(rest == Seq(other) && found.exists(_.source == EstimateSource.ColumnRange))
      assert(found.map(_.value) == share(known))
    }
  }

}
