package io.aqeplugin.decide

/** A fact whose value may turn a decision. */
sealed abstract class FlipFact(val name: String, val unit: String)

object FlipFact {
  case object PassRate extends FlipFact("pass_rate", "ratio")
  case object BuildRows extends FlipFact("build_rows", "rows")
  case object ProbeRows extends FlipFact("probe_rows", "rows")

  val All: Seq[FlipFact] = Seq(PassRate, BuildRows, ProbeRows)

  def fromName(name: String): Option[FlipFact] = All.find(_.name == name)
}

/** Where a decision turns: were `fact` at `value` and all else as it is, the choice would be another.
  *
  * @param choice
  *   the strategy then; that of the decision where only the filter differs
  * @param buildFilter
  *   whether there is a filter then
  */
final case class FlipPoint(fact: FlipFact, value: Double, choice: Strategy, buildFilter: Boolean)

private[decide] object FlipPoints {

  /** Each fact is varied up to this factor, up and down. */
  private val Doublings = 10

  // Narrows a doubling to less than one percent.
  private val BisectionSteps = 7

  /** The nearest turning point of each fact; none for a fact that turns nothing within a factor of a thousand, or is not known.
    *
    * A pass rate that is varied stays the same while the other facts are.
    */
  def of(decision: JoinDecision, thresholds: Thresholds): Seq[FlipPoint] = {
    val facts = decision.facts
    val estimated = PassRateEstimate(decision.passRate, decision.passRateSource)
    def choiceAt(facts: JoinFacts, passRate: Double): JoinChoice =
      DecideJoin.choice(facts, thresholds, estimated.copy(value = passRate))
    val now = JoinChoice(decision.method, decision.buildFilter)
    FlipFact.All.flatMap { fact =>
      val (value, most, at) = fact match {
        case FlipFact.PassRate  => (decision.passRate, 1.0, choiceAt(facts, _))
        case FlipFact.BuildRows =>
          val build = facts.build
          (build.rows.toDouble, MostRows, (rows: Double) => choiceAt(facts.copy(build = build.copy(rows = rows.toLong)), decision.passRate))
        case FlipFact.ProbeRows =>
          val probe = facts.probe
          def scaled(rows: Double): ProbeFacts =
            probe.copy(rows = (probe.rows * (rows / probe.scanRows)).toLong, scanRows = rows.toLong)
          (probe.scanRows.toDouble, MostRows, (rows: Double) => choiceAt(facts.copy(probe = scaled(rows)), decision.passRate))
      }
      if (value > 0) nearest(value, most, now, at).map { case (turned, to) => FlipPoint(fact, turned, to.strategy, to.withFilter) }
      else None
    }
  }

  private val MostRows = 1e15

  private def nearest(value: Double, most: Double, now: JoinChoice, at: Double => JoinChoice): Option[(Double, JoinChoice)] = {
    def steps(factor: Double): Iterator[(Double, Double)] =
      Iterator.iterate(value)(_ * factor).take(Doublings + 1).map(math.min(_, most)).sliding(2).collect { case Seq(from, to) => (from, to) }
    steps(2.0).zip(steps(0.5)).flatMap { case (up, down) => Iterator(up, down) }
      .find { case (from, to) => from != to && at(to) != now }
      .map { case (same, other) =>
        val (_, turned) = Iterator.iterate((same, other)) { case (before, after) =>
          val middle = math.sqrt(before * after)
          if (at(middle) == now) (middle, after) else (before, middle)
        }.drop(BisectionSteps).next()
        (turned, at(turned))
      }
  }
}
