package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf

/** A fact of a join that can be changed alone. */
sealed abstract class FlipFact(val name: String, val unit: String, val meaning: String) {

  /** The value in `facts`; none if it is unknown or not positive. */
  def of(facts: JoinFacts): Option[Long]

  /** The facts with another value, and what follows from it. */
  def changed(facts: JoinFacts, value: Long): JoinFacts

  final protected def scaled(count: Long, by: Double): Long = math.min(count * by, Long.MaxValue / 2.0).toLong
}

object FlipFact {

  /** The distinct keys change with the rows. */
  case object BuildRows extends FlipFact("build_rows", "rows", "rows of the build side") {
    override def of(facts: JoinFacts): Option[Long] = Some(facts.build.rows).filter(_ > 0)

    override def changed(facts: JoinFacts, value: Long): JoinFacts = {
      val build = facts.build
      val by = value.toDouble / build.rows
      val keys = build.keys.copy(distinct = build.keys.distinct.map(scaled(_, by)), nulls = build.keys.nulls.map(scaled(_, by)))
      facts.copy(build =
        build.copy(
          rows = value,
          stageBytes = scaled(build.stageBytes, by),
          maxPartitionBytes = scaled(build.maxPartitionBytes, by),
          medianPartitionBytes = scaled(build.medianPartitionBytes, by),
          originRows = build.originRows.map(math.max(_, value)),
          keys = keys
        )
      )
    }
  }

  case object BuildRowBytes extends FlipFact("build_row_bytes", "bytes", "bytes of a build row in memory") {
    override def of(facts: JoinFacts): Option[Long] = Some(facts.build.memoryBytesPerRow).filter(_ > 0)
    override def changed(facts: JoinFacts, value: Long): JoinFacts = facts.copy(build = facts.build.copy(memoryBytesPerRow = value))
  }

  /** The rows of the scans, and of what lies between, change with those that reach the join. */
  case object ProbeRows extends FlipFact("probe_rows", "rows", "rows of the probe side") {
    override def of(facts: JoinFacts): Option[Long] = Some(facts.probe.rows).filter(_ > 0)

    override def changed(facts: JoinFacts, value: Long): JoinFacts = {
      val by = value.toDouble / facts.probe.rows
      facts.copy(probe = facts.probe.scaled(by).copy(rows = value))
    }
  }

  /** The rows of the build side stay, so its predicates keep another share. */
  case object TableRows extends FlipFact("build_table_rows", "rows", "rows of the build side's table") {
    override def of(facts: JoinFacts): Option[Long] = facts.build.originRows.filter(_ > 0)

    override def changed(facts: JoinFacts, value: Long): JoinFacts = {
      val build = facts.build
      val by = value.toDouble / build.originRows.getOrElse(value).toDouble
      val keys = build.keys.copy(originDistinct = build.keys.originDistinct.map(scaled(_, by)))
      facts.copy(build = build.copy(originRows = Some(math.max(value, build.rows)), keys = keys))
    }
  }

  val All: Seq[FlipFact] = Seq(BuildRows, BuildRowBytes, ProbeRows, TableRows)

  def fromName(name: String): Option[FlipFact] = All.find(_.name == name)
}

/** The value of a fact from which on the decision is another one, if nothing else changes.
  *
  * @param actual
  *   the value in the decision; the decision stays for all that is between it and `value`, as far as was searched
  * @param value
  *   above `actual` the least value, below it the greatest, with another decision; at most 1 % or 1 beyond the real one
  * @param choice
  *   the decision there
  * @param withFilter
  *   whether it has a filter
  */
final case class FlipPoint(fact: FlipFact, actual: Long, value: Long, choice: Strategy, withFilter: Boolean)

/** Finds the flip points of a decision: for each fact it decides again with the value four times as large, sixteen times, and so on to a
  * thousand times, likewise downwards, and halves the last interval. Two flips inside one such step may go unseen.
  *
  * A join takes 40 to 120 decisions, so a query that is being planned must not wait for it.
  */
object FlipPoints {
  private val Step = 4.0
  private val Steps = 5
  private val Precision = 1.01

  /** The flip points, the nearest first; none for a join that is forced, even in part. */
  def of(decision: JoinDecision, thresholds: Thresholds): Seq[FlipPoint] =
    if (thresholds(AqeConf.Force).of(decision.facts.joinId).isDefined) Nil
    else {
      val points =
        for (fact <- FlipFact.All; actual <- fact.of(decision.facts).toSeq; up <- Seq(true, false))
          yield search(decision, thresholds, fact, actual, up)
      points.flatten.sortBy(point => math.abs(math.log(math.max(0.5, point.value.toDouble) / point.actual)))
    }

  private def search(decision: JoinDecision, thresholds: Thresholds, fact: FlipFact, actual: Long, up: Boolean): Option[FlipPoint] = {
    def at(value: Long): JoinDecision = DecideJoin.decide(fact.changed(decision.facts, value), thresholds)
    def isOther(value: Long): Boolean = !isSame(at(value), decision)
    val values =
      (1 to Steps).map(step => actual * math.pow(Step, (if (up) step else -step).toDouble)).filter(_ < Long.MaxValue).map(_.toLong)
    (actual +: values).zip(values).find { case (_, far) => isOther(far) }.map { case (near, far) =>
      val value = nearest(near, far, isOther)
      val there = at(value)
      FlipPoint(fact, actual, value, there.choice, there.buildFilter)
    }
  }

  private def isSame(one: JoinDecision, other: JoinDecision): Boolean = one.choice == other.choice && one.buildFilter == other.buildFilter

  /** The value nearest to `near` with another decision, of those between it and `far`, which has one. */
  @scala.annotation.tailrec
  private def nearest(near: Long, far: Long, isOther: Long => Boolean): Long = {
    val (low, high) = (math.min(near, far), math.max(near, far))
    if (high - low <= 1 || high <= low * Precision) far
    else {
      val middle = if (low == 0) high / 2 else math.min(high - 1, math.max(low + 1, math.sqrt(low.toDouble * high).toLong))
      if (isOther(middle)) nearest(near, middle, isOther) else nearest(middle, far, isOther)
    }
  }
}
