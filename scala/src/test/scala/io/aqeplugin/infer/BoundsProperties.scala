package io.aqeplugin.infer

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.Extent

/** Compares [[Bounds]] with every assignment of small types. */
class BoundsProperties extends AnyFunSuite {
  import BoundsProperties._

  private val Seeds = 1 to Extent.cases(sample = 1000, whole = 30000)

  test("every assignment that fulfils the comparisons is within the intervals") {
    for (seed <- Seeds) {
      val problem = random(new Random(seed))
      val found = Bounds.of(problem.domains, problem.start, problem.comparisons)
      for (values <- problem.solutions) {
        assert(found.isDefined, s"seed $seed: $values solves $problem")
        for (intervals <- found; (column, interval) <- intervals)
          assert(isIn(values(column), interval), s"seed $seed: column $column of $values in $problem, intervals $intervals")
      }
    }
  }

  test("intervals are the same when they are computed again from themselves") {
    for (seed <- Seeds) {
      val problem = random(new Random(seed))
      Bounds.of(problem.domains, problem.start, problem.comparisons).foreach { found =>
        assert(Bounds.of(problem.domains, found, problem.comparisons).contains(found), s"seed $seed: $problem")
      }
    }
  }

  test("a chain of comparisons carries a constant from one end to the other") {
    val chain = Seq(AtMost(Term(0), Term(1), strict = true), AtMost(Term(1), Term(2), strict = true))
    val domains = Vector.fill(3)(Domain(-100, 100, isDiscrete = true))
    val found = Bounds.of(domains, Map(2 -> Interval(None, Some(End(5, strict = true)))), chain)
    assert(found.flatMap(_.get(0)).contains(Interval(None, Some(End(2, strict = false)))))
  }

  test("comparisons in a circle that no value fulfils bound nothing") {
    val circle = Seq(AtMost(Term(0), Term(1), strict = true), AtMost(Term(1), Term(0), strict = true))
    val domains = Vector.fill(2)(Domain(Long.MinValue, Long.MaxValue, isDiscrete = true))
    assert(Bounds.of(domains, Map(0 -> Interval(Some(End(0, strict = false)), Some(End(1L << 40, strict = false)))), circle).isEmpty)
  }

  test("a sum that wraps bounds a column only where it cannot wrap") {
    val domains = Vector.fill(2)(Domain(-8, 7, isDiscrete = true))
    def highOfFirst(high: Long): Option[End] = Bounds
      .of(
        domains,
        Map(1 -> Interval(None, Some(End(high, strict = false)))),
        Seq(AtMost(Term(0), Term(1, 3, wraps = true), strict = false))
      )
      .flatMap(_.get(0)).flatMap(_.high)
    assert(highOfFirst(2).contains(End(5, strict = false)))
    assert(highOfFirst(5).isEmpty)
  }

  test("the hull of two intervals contains both and nothing tighter is known") {
    val a = Interval(Some(End(1, strict = true)), Some(End(3, strict = false)))
    val b = Interval(Some(End(1, strict = false)), None)
    assert(a.hull(b) == b && b.hull(a) == b && a.isWithin(b) && !b.isWithin(a))
  }
}

object BoundsProperties {
  private val Small = Domain(-4, 3, isDiscrete = true)

  final case class Problem(domains: Vector[Domain], start: Map[Int, Interval], comparisons: Seq[AtMost]) {
    def solutions: Seq[Vector[Long]] = {
      val values = domains.foldLeft(Seq(Vector.empty[Long]))((all, domain) => all.flatMap(row => (domain.low to domain.high).map(row :+ _)))
      values.filter(row =>
        start.forall { case (column, interval) => isIn(row(column), interval) } && comparisons.forall { comparison =>
          val (a, b) = (value(comparison.lesser, row), value(comparison.greater, row))
          if (comparison.strict) a < b else a <= b
        }
      )
    }
  }

  private def value(term: Term, row: Vector[Long]): Long = {
    val sum = row(term.column) + term.offset
    if (term.wraps) Math.floorMod(sum - Small.low, Small.high - Small.low + 1) + Small.low else sum
  }

  def isIn(value: Long, interval: Interval): Boolean =
    interval.low.forall(low => value > low.value || value == low.value && !low.strict) &&
      interval.high.forall(high => value < high.value || value == high.value && !high.strict)

  def random(random: Random): Problem = {
    val columns = 2 + random.nextInt(3)
    def limit(): Option[End] = Option.when(random.nextInt(3) == 0)(End(random.nextInt(9).toLong - 4, random.nextBoolean()))
    def term(): Term = {
      val offset = if (random.nextBoolean()) 0 else random.nextInt(7) - 3
      Term(random.nextInt(columns), offset.toLong, wraps = offset != 0 && random.nextBoolean())
    }
    Problem(
      Vector.fill(columns)(Small),
      (0 until columns).map(_ -> Interval(limit(), limit())).toMap,
      Seq.fill(1 + random.nextInt(columns + 2))(AtMost(term(), term(), random.nextBoolean()))
    )
  }
}
