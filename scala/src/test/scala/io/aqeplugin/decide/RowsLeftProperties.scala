package io.aqeplugin.decide

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.decide.RowsLeft.{Passed, Scan}

class RowsLeftProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  private def scanOf(filters: Passed*): Scan = Scan(filters.map(_.reached).max, filters.map(_.passed).min, filters)

  /** The filters of a scan, each of which sees what those before it left. */
  private val scan: Gen[Seq[Passed]] = for {
    rows <- Gen.choose(1000L, 1000000L)
    shares <- Gen.nonEmptyListOf(Gen.oneOf(Gen.const(1.0), Gen.choose(0.05, 1.0)))
    left = shares.scanLeft(rows)((reached, share) => math.max(1L, (reached * share).toLong))
  } yield left.zip(left.tail).zipWithIndex.map { case ((reached, passed), i) => Passed(Seq(s"join$i"), reached, passed) }

  test("what the joins' filters removed adds up to what their scan lost, and what was not read is shared out with it") {
    forAll(scan, Gen.choose(0L, 1000000L)) { (filters, unread) =>
      val read = filters.head.reached
      val left = RowsLeft.byJoin(Seq(scanOf(filters: _*)), _ => read + unread)
      assert(left.values.forall(_.scanned == read + unread))
      val removed = left.values.map(rows => rows.scanned * (1 - rows.share)).sum
      assert(math.abs(removed - (read + unread - filters.last.passed)) < 1e-3 * (read + unread))
    }
  }

  test("no order of a scan's filters counts, only the shares that they let pass") {
    val first = RowsLeft.byJoin(Seq(scanOf(Passed(Seq("a"), 1000, 100), Passed(Seq("b"), 100, 50))), _ => 1000)
    val second = RowsLeft.byJoin(Seq(scanOf(Passed(Seq("b"), 1000, 500), Passed(Seq("a"), 500, 50))), _ => 1000)
    Seq("a", "b").foreach(join => assert(math.abs(first(join).share - second(join).share) < 1e-9))
    assert(first("a").share < first("b").share)
  }

  test("a filter that alone removed every row has left none, and one that removed none has left all") {
    assert(RowsLeft.byJoin(Seq(scanOf(Passed(Seq("a"), 1000, 0))), _ => 1000) == Map("a" -> RowsLeft(1000, 0.0)))
    val both = RowsLeft.byJoin(Seq(scanOf(Passed(Seq("a"), 1000, 1000), Passed(Seq("b"), 1000, 10))), _ => 1000)
    assert(both("a").share == 1.0 && math.abs(both("b").share - 0.01) < 1e-9)
  }

  test("rows that were never read have been left out with their files, by the filters of their scan") {
    assert(RowsLeft.byJoin(Seq(scanOf(Passed(Seq("a"), 100, 100))), _ => 1000).get("a").exists(rows =>
      rows.scanned == 1000 && math.abs(rows.share - 0.1) < 1e-9
    ))
    assert(RowsLeft.byJoin(Seq(scanOf(Passed(Seq("a"), 0, 0))), _ => 1000).isEmpty)
  }

  test("a join's filters on several scans are added up, and the joins of a union share what it removed") {
    val two = RowsLeft.byJoin(Seq(scanOf(Passed(Seq("a"), 100, 50)), scanOf(Passed(Seq("a"), 900, 450))), _ => 1000)
    assert(two == Map("a" -> RowsLeft(1000, 0.5)))
    val union = RowsLeft.byJoin(Seq(scanOf(Passed(Seq("a", "b"), 1000, 200))), _ => 1000)
    assert(union.values.forall(rows => math.abs(rows.share - 0.6) < 1e-9) && union.size == 2)
  }
}
