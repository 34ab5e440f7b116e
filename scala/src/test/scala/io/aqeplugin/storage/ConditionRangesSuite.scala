package io.aqeplugin.storage

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.LongType
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.ValueRange
import io.aqeplugin.limit.Proof

class ConditionRangesSuite extends AnyFunSuite {
  private val c = AttributeReference("c", LongType)()
  private val (five, six) = (Literal(5L), Literal(6L))

  test("the values of a file prove a condition for all of its rows, or for none") {
    val conditions = Seq[Expression](
      EqualTo(c, five),
      In(c, Seq(five, six)),
      InSet(c, Set(5L, 6L)),
      LessThan(c, six),
      LessThanOrEqual(c, five),
      GreaterThan(six, c),
      GreaterThanOrEqual(five, c),
      Not(GreaterThan(c, five)),
      And(EqualTo(c, five), Literal(true)),
      And(EqualTo(c, five), IsNotNull(c)),
      Or(EqualTo(c, five), IsNull(c))
    )
    def others(low: Long, high: Long, expected: Proof): Seq[Expression] = conditions.filter { condition =>
      Proof.of(ConditionRanges.truths(Seq(condition))(_ => Some(ValueRange(Some((low, high)), mayBeNull = false)))) != expected
    }
    assert(others(5, 5, Proof.AllMatch) == Nil)
    assert(others(8, 9, Proof.NoneMatch) == Nil)
    assert(others(5, 9, Proof.Unknown) == Nil)
  }
}
