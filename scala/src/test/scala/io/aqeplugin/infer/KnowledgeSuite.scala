package io.aqeplugin.infer

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.IntegerType
import org.scalatest.funsuite.AnyFunSuite

class KnowledgeSuite extends AnyFunSuite {
  private val a = AttributeReference("a", IntegerType)()
  private val b = AttributeReference("b", IntegerType)()

  private def anyOf(branches: Seq[Expression]): Expression = branches.reduce(Or(_, _))
  private def solves(conditions: Expression*): Boolean = Knowledge.empty(Set.empty).plus(conditions).solvesBranches

  test("the branches of ORs are solved while few of them compare columns") {
    val half = Knowledge.MaxBranches / 2
    def compared(count: Int): Expression = anyOf(Seq.fill(count)(LessThan(a, b)))
    assert(solves(compared(half), compared(half)))
    assert(!solves(compared(half), compared(half + 1)))
    assert(solves(compared(half), anyOf((0 to half).map(value => EqualTo(a, Literal(value))))))
  }
}
