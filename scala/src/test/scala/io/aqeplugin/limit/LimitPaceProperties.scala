package io.aqeplugin.limit

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** How many splits of a limit run at once. */
class LimitPaceProperties extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val paces: Gen[WavePace] =
    Gen.zip(Gen.choose(1, 8), Gen.choose(1.0, 5.0), Gen.choose(1, 20)).map { case (first, growth, most) => WavePace(first, growth, most) }

  test("every table is read to its end when its rows are too few") {
    forAll(paces, Gen.choose(0, 300), Gen.choose(0, 3)) { (pace, splits, rowsEach) =>
      var (started, finished, found) = (0, 0, 0L)
      var steps = 0
      while (finished < splits && steps < 1000) {
        started += pace.start(Long.MaxValue / 2 - found, found, finished, started - finished, splits - started)
        assert(started > finished && started <= splits && started - finished <= pace.most)
        finished += 1
        found += rowsEach
        steps += 1
      }
      assert(finished == splits)
    }
  }

  test("nothing starts when the rows are found") {
    forAll(paces)(pace => assert(pace.start(0, 10, 3, 0, 5) == 0))
  }

  test("no more splits start than the yield says are needed") {
    val pace = WavePace(first = 2, growth = 10, most = 100)
    assert(pace.start(rowsMissing = 30, rowsFound = 20, finished = 4, running = 0, waiting = 1000) == 6)
    assert(pace.start(rowsMissing = 1, rowsFound = 20, finished = 4, running = 0, waiting = 1000) == 1)
    assert(pace.start(rowsMissing = 30, rowsFound = 0, finished = 4, running = 0, waiting = 1000) == 40)
  }
}
