package io.aqeplugin.filters

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Compares [[RangeBounds]] with every value of a small type. */
class RangeBoundsProperties extends AnyFunSuite {
  import RangeBoundsProperties._

  private val Seeds = 1 to 5000

  test("every value that has a partner is in the range") {
    for (seed <- Seeds) {
      val problem = random(new Random(seed))
      for (x <- problem.partnered) assert(problem.range.exists(_.contains(x)), s"seed $seed: $x in $problem")
    }
  }

  test("the range of a single row contains no other value") {
    for (seed <- Seeds) {
      val whole = random(new Random(seed))
      val problem = whole.copy(rows = whole.rows.take(1))
      assert(problem.range.fold(Seq.empty[Long])(range => Values.filter(range.contains)) == problem.partnered, s"seed $seed: $problem")
    }
  }

  test("extremes are the same however the rows are divided into tasks") {
    for (seed <- Seeds) {
      val random = new Random(seed)
      val problem = RangeBoundsProperties.random(random)
      val parts = problem.rows.groupBy(_ => random.nextInt(3)).values.map(extremes).toSeq
      assert(parts.foldLeft(ColumnExtremes.none(Columns))(_.merge(_)) == extremes(problem.rows), s"seed $seed: $problem")
    }
  }

  test("a sum beyond 64 bits ends the range there") {
    val bounds = RangeBounds(Seq(RangeBound(0, isLower = true, -5L), RangeBound(0, isLower = false, 5L)))
    def range(from: Long, to: Long): Option[CodeRange] = bounds.range(ColumnExtremes(2L, Seq(from), Seq(to)))
    assert(range(Long.MinValue + 2, 0).contains(CodeRange(Long.MinValue, 5)))
    assert(range(0, Long.MaxValue - 2).contains(CodeRange(-5, Long.MaxValue)))
  }

  test("without rows, or with bounds that contradict each other, no value has a partner") {
    val bounds = RangeBounds(Seq(RangeBound(0, isLower = true, 0L), RangeBound(1, isLower = false, 0L)))
    assert(bounds.range(ColumnExtremes.none(2)).isEmpty)
    assert(bounds.range(ColumnExtremes(1L, Seq(5L, 4L), Seq(5L, 4L))).isEmpty)
  }

  test("a missing bound leaves the range open") {
    val lower = RangeBounds(Seq(RangeBound(0, isLower = true, 1L)))
    assert(lower.range(ColumnExtremes(1L, Seq(3L), Seq(9L))).contains(CodeRange(4L, Long.MaxValue)))
  }
}

object RangeBoundsProperties {
  private val Columns = 2
  private val Values = (-30L to 30L)

  private def extremes(rows: Seq[Seq[Long]]): ColumnExtremes = {
    val collector = new ExtremesCollector(Columns)
    rows.foreach(row => collector.add(row.toArray))
    collector.result
  }

  private final case class Problem(rows: Seq[Seq[Long]], bounds: RangeBounds) {
    def range: Option[CodeRange] = bounds.range(extremes(rows))

    def partnered: Seq[Long] = Values.filter(x =>
      rows.exists(row =>
        bounds.bounds.forall { bound =>
          val sum = row(bound.column) + bound.offset
          if (bound.isLower) x >= sum else x <= sum
        }
      )
    )
  }

  private def random(random: Random): Problem = {
    def value: Long = random.nextInt(21).toLong - 10
    val bounds = Seq.fill(1 + random.nextInt(3))(RangeBound(random.nextInt(Columns), random.nextBoolean(), value / 2))
    Problem(Seq.fill(random.nextInt(5))(Seq.fill(Columns)(value)), RangeBounds(bounds))
  }
}
