package io.aqeplugin.infer

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.IntegerType
import org.scalatest.funsuite.AnyFunSuite

class KnowledgeSuite extends AnyFunSuite {
  private val a = AttributeReference("a", IntegerType)()
  private val b = AttributeReference("b", IntegerType)()

  private def anyOf(branches: Seq[Expression]): Expression = branches.reduce(Or(_, _))
  private def solves(conditions: Expression*): Boolean = Knowledge.empty(Set.empty).plus(conditions).solvesBranches

  private def follows(condition: Expression, facts: Expression*): Boolean = new Fulfilled(facts, new Ordered(facts)).implies(condition)

  test("a column has a value wherever a comparison with it is true, but not if that takes nulls for equal") {
    val one = Literal(1)
    val comparisons =
      Seq[Expression](LessThan(a, b), EqualTo(b, a), In(a, Seq(b, one)), InSet(a, Set(1, 2)), Not(EqualTo(a, one)), Not(In(a, Seq(b, one))))
    val others = Seq[Expression](EqualNullSafe(a, b), Not(EqualNullSafe(a, one)), In(b, Seq(a, one)), InSet(b, Set(1)), IsNull(a))
    assert((IsNotNull(a) +: comparisons).filterNot(follows(IsNotNull(a), _)) == Nil)
    assert(others.filter(follows(IsNotNull(a), _)) == Nil)
  }

  test("equal columns are also the same, but both may be null if they are the same") {
    assert(follows(EqualNullSafe(a, b), EqualTo(b, a)))
    assert(!follows(EqualTo(a, b), EqualNullSafe(a, b)))
  }

  test("the branches of ORs are solved while few of them compare columns") {
    val half = Knowledge.MaxBranches / 2
    def compared(count: Int): Expression = anyOf(Seq.fill(count)(LessThan(a, b)))
    assert(solves(compared(half), compared(half)))
    assert(!solves(compared(half), compared(half + 1)))
    assert(solves(compared(half), anyOf((0 to half).map(value => EqualTo(a, Literal(value))))))
  }
}
