package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.NamedExpression
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide._

/** What the filters of decided joins leave of a scan for the next join that is decided. */
class LeftByFiltersSuite extends AnyFunSuite {

  private val scan = ReachedScan(Seq(NamedExpression.newExprId), rows = 1000, isTarget = true)

  /** The share that is left for one join by the filter of another, which passes a tenth. */
  private def left(placed: (Boolean, ReasonCode)*): Double = {
    val state = new QueryState(1L)
    Seq("decided", "next").foreach(id => state.noteScans(id, JoinId(id)(id), Seq(scan)))
    val facts = FactsGen.Typical.copy(joinId = "decided")
    val _ = state.decideOnce("decided")(DecideJoin.decide(facts, Thresholds.Default).copy(buildFilter = true, passRate = 0.1))
    placed.zipWithIndex.foreach { case ((applied, code), i) =>
      state.noteFilter(PlacedFilter(s"filter-$i", "decided", "sales", Seq("k"), applied, Reason(code)))
    }
    state.leftByFilters("next", 0.5)
  }

  test("a filter leaves its share as soon as it is decided") {
    assert(left() == 0.1)
    assert(left(true -> ReasonCode.FilterPays) == 0.1)
  }

  test("a filter that no scan got leaves every row, and one that some scan got its share") {
    assert(left(false -> ReasonCode.MaxFiltersPerScan, false -> ReasonCode.ReusedExchange) == 1.0)
    assert(left(false -> ReasonCode.ReusedExchange, true -> ReasonCode.FilterPays) == 0.1)
  }

  test("mode observe decides the next join as if the scan had the filter") {
    assert(left(false -> ReasonCode.ObserveMode) == 0.1)
  }
}
