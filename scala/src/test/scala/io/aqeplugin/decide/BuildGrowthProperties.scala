package io.aqeplugin.decide

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class BuildGrowthProperties extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val rowsOfTasks: Gen[Seq[Long]] = Gen.choose(1, 60).flatMap(Gen.listOfN(_, Gen.choose(0L, 1000000L)))

  private def seen(rows: Seq[Long], doneTasks: Int, predictedRows: Double, table: Option[RowsSoFar] = None): Option[BuildGrowth] =
    BuildGrowth.seen(doneTasks, rows.size, rows.take(doneTasks).sum, table, predictedRows)

  test("a stage that writes the rows predicted, or fewer, in tasks of one size shows no growth at any time") {
    forAll(Gen.choose(1, 200), Gen.choose(0L, 1000000L), Gen.choose(1.0, 10.0)) { (tasks, each, above) =>
      val predicted = math.max(1.0, each.toDouble * tasks * above)
      (0 to tasks).foreach(done => assert(seen(Seq.fill(tasks)(each), done, predicted).isEmpty))
    }
  }

  test("however skewed the tasks are, no more than twice the rows of the stage are expected") {
    forAll(rowsOfTasks, Gen.choose(0.0, 1.0), Gen.choose(1.0, 1e6)) { (rows, share, predicted) =>
      val skewed = rows.sorted.reverse
      seen(skewed, (share * rows.size).toInt, predicted).foreach { growth =>
        assert(growth.by > 1 && growth.by * predicted <= 2.0 * skewed.sum + 1e-6 * skewed.sum)
      }
    }
  }

  test("more rows never show less growth, and all tasks show that of all rows") {
    forAll(rowsOfTasks, Gen.choose(0.0, 1.0), Gen.choose(1.0, 1e6)) { (rows, share, predicted) =>
      val done = (share * rows.size).toInt
      def by(rows: Seq[Long], done: Int): Double = seen(rows, done, predicted).fold(1.0)(_.by)
      assert(by(rows, done) <= by(rows.map(_ * 2), done))
      assert(by(rows, rows.size) == math.max(1.0, rows.sum / predicted))
    }
  }

  test("rows that a scan has counted so far are those of the finished tasks, and rows of a known table are all of them") {
    def tableRows(isComplete: Boolean): Option[Long] =
      seen(Seq(500, 500, 500, 500), doneTasks = 2, predictedRows = 100, Some(RowsSoFar(1000, isComplete))).flatMap(_.tableRows)
    assert(tableRows(isComplete = false).contains(2000L) && tableRows(isComplete = true).contains(1000L))
  }

  test("a larger build side comes from a table that has its rows at least, and unknown rows stay unknown") {
    forAll(FactsGen.buildFacts, Gen.choose(1.0, 1e4), Gen.option(Gen.choose(0L, 1000000L))) { (build, by, tableRows) =>
      val grown = BuildGrowth(by, tableRows).of(build)
      assert(grown.originRows.forall(_ >= grown.rows) && (grown.rows < 0) == (build.rows < 0))
      assert(grown.rows >= math.min(build.rows, Long.MaxValue / 2) || build.rows < 0)
    }
  }

  test("of a table of which only the estimate is known, the larger build side is the same share") {
    val build = FactsGen.Typical.build
    assert(BuildGrowth(3, None).of(build) == build.copy(rows = build.rows * 3, originRows = build.originRows.map(_ * 3)))
  }
}
