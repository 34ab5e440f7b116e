package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.NamedExpression
import org.scalatest.funsuite.AnyFunSuite

class ReachedScansSuite extends AnyFunSuite {

  private def id(columns: String) = JoinId(columns)(columns)

  private val (sales, returns) = (Seq(NamedExpression.newExprId), Seq(NamedExpression.newExprId))

  private def scans(of: (String, Seq[ReachedScan])*): ReachedScans = {
    val reached = new ReachedScans
    of.foreach { case (joinId, scans) => reached.note(joinId, id(joinId), scans) }
    reached
  }

  private val known = scans(
    "item" -> Seq(ReachedScan(sales, 300, isTarget = true), ReachedScan(returns, 100, isTarget = true)),
    "date" -> Seq(ReachedScan(sales, 300, isTarget = true)),
    "store" -> Seq(ReachedScan(sales, 300, isTarget = true)),
    "reason" -> Seq(ReachedScan(returns, 100, isTarget = true)),
    "refused" -> Seq(ReachedScan(sales, 300, isTarget = false)),
    "empty" -> Seq(ReachedScan(sales, 0, isTarget = true))
  )

  test("the filters of other joins on a scan multiply, and a join's own does not count") {
    assert(known.leftByOthers("date", Map("store" -> 0.5, "item" -> 0.1, "date" -> 0.01)) == 0.05)
  }

  test("a filter on one of several scans counts by that scan's rows") {
    assert(known.leftByOthers("item", Map("date" -> 0.2)) == (300 * 0.2 + 100) / 400)
  }

  test("filters on other scans leave all rows, and so do filters of joins that are not known") {
    assert(known.leftByOthers("date", Map("reason" -> 0.1, "unknown" -> 0.1)) == 1)
    assert(known.leftByOthers("unknown", Map("date" -> 0.1)) == 1 && known.leftByOthers("empty", Map("date" -> 0.1)) == 1)
  }

  test("a filter that a scan was refused leaves it all rows, and others' filters leave it fewer") {
    assert(known.leftByOthers("date", Map("refused" -> 0.1)) == 1)
    assert(known.leftByOthers("refused", Map("date" -> 0.1)) == 0.1)
  }

  test("a join of two plans has the scans of both, and in each plan those that it has now") {
    val (ofQuery, ofSubquery) = (Seq(NamedExpression.newExprId), Seq(NamedExpression.newExprId))
    val reached = new ReachedScans
    for ((columns, join) <- Seq(ofQuery -> id("query"), ofSubquery -> id("subquery"))) {
      reached.note("dates", join, Seq(ReachedScan(sales, 700, isTarget = true)))
      reached.note("dates", join, Seq(ReachedScan(columns, 100, isTarget = true)))
    }
    reached.note("items of the query", id("items"), Seq(ReachedScan(ofQuery, 100, isTarget = true)))
    reached.note("items of the subquery", id("other items"), Seq(ReachedScan(ofSubquery, 100, isTarget = true)))
    reached.note("sales", id("sales"), Seq(ReachedScan(sales, 100, isTarget = true)))
    for (items <- Seq("items of the query", "items of the subquery")) assert(reached.leftByOthers(items, Map("dates" -> 0.2)) == 0.2)
    assert(reached.leftByOthers("sales", Map("dates" -> 0.2)) == 1.0)
  }
}
