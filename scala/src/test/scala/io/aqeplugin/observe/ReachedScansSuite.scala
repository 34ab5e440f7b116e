package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.NamedExpression
import org.scalatest.funsuite.AnyFunSuite

class ReachedScansSuite extends AnyFunSuite {

  private def id(columns: String) = JoinId(columns)(columns)

  private val (sales, returns) = (Seq(NamedExpression.newExprId), Seq(NamedExpression.newExprId))

  /** The joins of a query with the scans that they reach. */
  private final class Reached(joins: Map[String, JoinLife] = Map.empty) {
    def note(joinId: String, join: JoinId, scans: Seq[ReachedScan]): Reached =
      new Reached(joins.updated(joinId, of(joinId).reach(join, scans)))
    def leftByOthers(joinId: String, passRates: Map[String, Double]): Double = ReachedScan.leftByOthers(
      of(joinId).reached,
      (passRates - joinId).toSeq.map { case (other, passRate) => of(other).reached -> passRate }
    )
    private def of(joinId: String): JoinLife = joins.getOrElse(joinId, JoinLife.Unseen)
  }

  private def scans(of: (String, Seq[ReachedScan])*): Reached =
    of.foldLeft(new Reached()) { case (reached, (joinId, scans)) => reached.note(joinId, id(joinId), scans) }

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
    val dates = for (
      (columns, join) <- Seq(ofQuery -> id("query"), ofSubquery -> id("subquery"));
      scan <- Seq(ReachedScan(sales, 700, isTarget = true), ReachedScan(columns, 100, isTarget = true))
    )
      yield ("dates", join, Seq(scan))
    val others = Seq(
      ("items of the query", id("items"), Seq(ReachedScan(ofQuery, 100, isTarget = true))),
      ("items of the subquery", id("other items"), Seq(ReachedScan(ofSubquery, 100, isTarget = true))),
      ("sales", id("sales"), Seq(ReachedScan(sales, 100, isTarget = true)))
    )
    val reached = (dates ++ others).foldLeft(new Reached()) { case (before, (joinId, join, scans)) => before.note(joinId, join, scans) }
    for (items <- Seq("items of the query", "items of the subquery")) assert(reached.leftByOthers(items, Map("dates" -> 0.2)) == 0.2)
    assert(reached.leftByOthers("sales", Map("dates" -> 0.2)) == 1.0)
  }
}
