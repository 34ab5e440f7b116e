package io.aqeplugin.infer

/** An end of an interval; a strict end is not a value of the interval itself. */
final case class End(value: Long, strict: Boolean)

/** The values that a column may have in a row that counts; an end that is missing is that of the column's type. */
final case class Interval(low: Option[End], high: Option[End]) {

  /** Whether no value is in the interval. */
  def isEmpty: Boolean = (low, high) match {
    case (Some(l), Some(h)) => l.value > h.value || l.value == h.value && (l.strict || h.strict)
    case _                  => false
  }

  /** Whether every value of this interval is in `other`. */
  def isWithin(other: Interval): Boolean = isEmpty || (meet(other) == this)

  def meet(other: Interval): Interval = Interval(Interval.tighterLow(low, other.low), Interval.tighterHigh(high, other.high))

  /** The smallest interval that contains both. */
  def hull(other: Interval): Interval =
    if (isEmpty) other
    else if (other.isEmpty) this
    else
      Interval(
        for { a <- low; b <- other.low } yield if (Interval.tighterLow(Some(a), Some(b)).contains(a)) b else a,
        for { a <- high; b <- other.high } yield if (Interval.tighterHigh(Some(a), Some(b)).contains(a)) b else a
      )
}

object Interval {
  val All: Interval = Interval(None, None)

  private def tighterLow(a: Option[End], b: Option[End]): Option[End] = tighter(a, b)((x, y) => x.value > y.value)
  private def tighterHigh(a: Option[End], b: Option[End]): Option[End] = tighter(a, b)((x, y) => x.value < y.value)

  private def tighter(a: Option[End], b: Option[End])(isTighter: (End, End) => Boolean): Option[End] = (a, b) match {
    case (Some(x), Some(y)) => if (isTighter(x, y) || x.value == y.value && x.strict) a else b
    case _                  => a.orElse(b)
  }
}

/** A column, or the sum of a column and a constant.
  *
  * @param wraps
  *   whether a sum outside of the column's type continues at the other end of the type. Otherwise such a sum has no value, and no comparison
  *   with it is true.
  */
final case class Term(column: Int, offset: Long = 0, wraps: Boolean = false)

/** A comparison that is true in every row that counts: `lesser <= greater`, or `lesser < greater` if it is strict. */
final case class AtMost(lesser: Term, greater: Term, strict: Boolean)

/** The values of a column's type: from the lowest to the highest. Between two neighbours of a discrete type is no other value. */
final case class Domain(low: Long, high: Long, isDiscrete: Boolean)

/** What follows for each column from comparisons of columns and from intervals of single columns. */
object Bounds {

  /** The smallest intervals that can be told from `start` and the comparisons.
    *
    * None if they contradict each other, so that no row counts. As in the Bellman-Ford algorithm, that is also so if the intervals still become
    * smaller after as many rounds as there are steps from one column to another: some comparisons form a circle that no value fulfils. The
    * result is a fixed point: another call with it gives it again.
    *
    * @param domains
    *   of each column, by its number
    */
  def of(domains: IndexedSeq[Domain], start: Map[Int, Interval], comparisons: Seq[AtMost]): Option[Map[Int, Interval]] = {
    val first = domains.indices.map(i => within(domains(i), start.getOrElse(i, Interval.All)))
    // An interval passes through every column at most once; a wrapping sum may become usable only after another one.
    val rounds = 2 * domains.size + 2
    val passes = Iterator.iterate(first)(round(domains, comparisons, _)).take(rounds + 1).sliding(2)
    val settled = passes.collectFirst { case Seq(before, after) if before == after => before }
    settled.filterNot(_.exists(_.isEmpty)).map(_.zipWithIndex.collect {
      case (interval, i) if interval != Interval.All => i -> interval
    }.toMap)
  }

  private def round(domains: IndexedSeq[Domain], comparisons: Seq[AtMost], known: IndexedSeq[Interval]): IndexedSeq[Interval] =
    comparisons.foldLeft(known) { (now, comparison) =>
      val AtMost(lesser, greater, strict) = comparison
      val fromAbove = highOf(greater, now, domains).map(beyond(_, strict)).flatMap(solveHigh(lesser, _, now, domains))
      val lowered = narrow(now, domains, lesser.column, Interval(None, fromAbove))
      val fromBelow = lowOf(lesser, lowered, domains).map(beyond(_, strict)).flatMap(solveLow(greater, _, lowered, domains))
      narrow(lowered, domains, greater.column, Interval(fromBelow, None))
    }

  private def beyond(limit: End, strict: Boolean): End = limit.copy(strict = limit.strict || strict)

  private def narrow(known: IndexedSeq[Interval], domains: IndexedSeq[Domain], column: Int, by: Interval): IndexedSeq[Interval] =
    if (by == Interval.All) known else known.updated(column, within(domains(column), known(column).meet(by)))

  /** Strict ends of a discrete type become its neighbours, and ends that say no more than the type disappear. */
  private def within(domain: Domain, interval: Interval): Interval = {
    val low = interval.low.map { l =>
      if (domain.isDiscrete && l.strict && l.value < Long.MaxValue) End(l.value + 1, strict = false) else l
    }
    val high = interval.high.map { h =>
      if (domain.isDiscrete && h.strict && h.value > Long.MinValue) End(h.value - 1, strict = false) else h
    }
    Interval(low.filter(l => l.value > domain.low || l.strict), high.filter(h => h.value < domain.high || h.strict))
  }

  /** Whether the sum stays in its type for every value that is still possible. */
  private def staysBelow(term: Term, known: Interval, domain: Domain): Boolean =
    plus(known.high.fold(domain.high)(_.value), term.offset).exists(_ <= domain.high)
  private def staysAbove(term: Term, known: Interval, domain: Domain): Boolean =
    plus(known.low.fold(domain.low)(_.value), term.offset).exists(_ >= domain.low)

  private def isExact(term: Term, known: IndexedSeq[Interval], domains: IndexedSeq[Domain]): Boolean =
    !term.wraps || term.offset == 0 ||
      (if (term.offset > 0) staysBelow(term, known(term.column), domains(term.column))
       else staysAbove(term, known(term.column), domains(term.column)))

  private def highOf(term: Term, known: IndexedSeq[Interval], domains: IndexedSeq[Domain]): Option[End] =
    known(term.column).high.filter(_ => isExact(term, known, domains)).flatMap(moved(_, term.offset))

  private def lowOf(term: Term, known: IndexedSeq[Interval], domains: IndexedSeq[Domain]): Option[End] =
    known(term.column).low.filter(_ => isExact(term, known, domains)).flatMap(moved(_, term.offset))

  /** The column's highest value when the term is at most `high`. A sum that wraps at the low end has a column below every such value. */
  private def solveHigh(term: Term, high: End, known: IndexedSeq[Interval], domains: IndexedSeq[Domain]): Option[End] =
    Some(high).filter(_ => term.offset <= 0 || isExact(term, known, domains)).flatMap(moved(_, -term.offset))

  /** The column's lowest value when the term is at least `low`. A sum that wraps at the high end has a column above every such value. */
  private def solveLow(term: Term, low: End, known: IndexedSeq[Interval], domains: IndexedSeq[Domain]): Option[End] =
    Some(low).filter(_ => term.offset >= 0 || isExact(term, known, domains)).flatMap(moved(_, -term.offset))

  private def moved(limit: End, by: Long): Option[End] = plus(limit.value, by).map(value => limit.copy(value = value))

  private def plus(a: Long, b: Long): Option[Long] = {
    val sum = a + b
    if (((a ^ sum) & (b ^ sum)) < 0) None else Some(sum)
  }
}
