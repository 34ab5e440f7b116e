package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Cast, ExprId, Expression}
import org.apache.spark.sql.types.{IntegerType, LongType}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.JoinKind

class JoinNamesSuite extends AnyFunSuite {

  private def column(name: String, id: Long): Expression = AttributeReference(name, IntegerType)(ExprId(id))

  private def join(pairs: ((String, Long), (String, Long))*): JoinId = {
    val (left, right) = pairs.map { case ((l, i), (r, j)) => (column(l, i), column(r, j)) }.unzip
    JoinId.of(JoinKind.Inner, left, right)
  }

  test("a name has the type and the key columns, without Spark's ids") {
    assert(join(("b", 4L) -> ("y", 9L), ("a", 17L) -> ("x", 2L)).name == "inner:a=x,b=y")
    val wider = JoinId.of(JoinKind.LeftOuter, Seq(Cast(column("a", 1), LongType)), Seq(column("b", 2)))
    assert(wider.name == "left_outer:a=b")
  }

  test("the order of the keys and their ids do not change a name") {
    assert(join(("a", 9L) -> ("x", 1L), ("a", 10L) -> ("w", 2L)).name == join(("a", 9L) -> ("w", 1L), ("a", 10L) -> ("x", 2L)).name)
  }

  test("characters with a meaning in spark.aqePlugin.force are not in a name") {
    assert(join(("a;b =*", 1L) -> ("c,d#", 2L)).name == "inner:a_b___=c_d_")
  }

  test("joins on columns of equal names are numbered as they are met") {
    val names = new JoinNames
    val joins = Seq(5L, 3L, 4L).map(id => join(("a", id) -> ("b", id + 10)))
    assert(joins.map(names.of) == Seq("inner:a=b", "inner:a=b#2", "inner:a=b#3"))
    assert(joins.reverse.map(names.of) == Seq("inner:a=b#3", "inner:a=b#2", "inner:a=b"))
    assert(names.of(join(("a", 5L) -> ("c", 15L))) == "inner:a=c")
  }
}
