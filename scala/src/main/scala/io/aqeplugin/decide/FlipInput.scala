package io.aqeplugin.decide

import io.aqeplugin.conf.{AqeConf, ConfEntry, Named, Names}
import io.aqeplugin.decide.ProbeFacts.times

/** An input of a decision that can be changed alone.
  *
  * @param isWhole
  *   whether its values are whole numbers
  */
sealed abstract class FlipInput(val name: String, val unit: String, private[decide] val isWhole: Boolean) extends Named {

  /** The value with which `decision` was made; none if it is unknown or not positive, or took no part. */
  private[decide] def of(decision: JoinDecision, thresholds: Thresholds): Option[Double]

  /** Facts and thresholds with another value, and what follows from it; none for a value that is not allowed. */
  private[decide] def changed(facts: JoinFacts, thresholds: Thresholds, value: Double): Option[(JoinFacts, Thresholds)]

  /** The nearest value that is allowed. */
  private[decide] def nearestAllowed(value: Double): Double
}

object FlipInput extends Names[FlipInput] {
  val All: Seq[FlipInput] = FlipFact.All ++ FlipThreshold.All
}

/** A fact of a join. */
sealed abstract class FlipFact(name: String, unit: String, val meaning: String) extends FlipInput(name, unit, isWhole = true) {

  /** The value in `facts`; none if it is unknown or not positive. */
  def of(facts: JoinFacts): Option[Long]

  /** The facts with another value, and what follows from it. */
  def changed(facts: JoinFacts, value: Long): JoinFacts

  final override private[decide] def of(decision: JoinDecision, thresholds: Thresholds): Option[Double] =
    of(decision.facts).map(_.toDouble)

  final override private[decide] def changed(
      facts: JoinFacts,
      thresholds: Thresholds,
      value: Double
  ): Option[(JoinFacts, Thresholds)] =
    Option.when(value < Long.MaxValue)((changed(facts, value.toLong), thresholds))

  final override private[decide] def nearestAllowed(value: Double): Double = value
}

object FlipFact {

  /** The distinct keys change with the rows, and so do those found in a sample of the probe side. */
  case object BuildRows extends FlipFact("build_rows", "rows", "rows of the build side") {
    override def of(facts: JoinFacts): Option[Long] = Some(facts.build.rows).filter(_ > 0)

    override def changed(facts: JoinFacts, value: Long): JoinFacts = {
      val build = facts.build
      val by = value.toDouble / build.rows
      val keys = build.keys.copy(distinct = build.keys.distinct.map(times(_, by)), nulls = build.keys.nulls.map(times(_, by)))
      facts.copy(
        build = build.copy(
          rows = value,
          stageBytes = times(build.stageBytes, by),
          maxPartitionBytes = times(build.maxPartitionBytes, by),
          medianPartitionBytes = times(build.medianPartitionBytes, by),
          originRows = build.originRows.map(math.max(_, value)),
          keys = keys
        ),
        probe = facts.probe.copy(sample = facts.probe.sample.map(_.scaled(by)))
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
      val keys = build.keys.copy(originDistinct = build.keys.originDistinct.map(times(_, by)))
      facts.copy(build = build.copy(originRows = Some(math.max(value, build.rows)), keys = keys))
    }
  }

  val All: Seq[FlipFact] = Seq(BuildRows, BuildRowBytes, ProbeRows, TableRows)
}

/** A threshold that refused an option of the decision: a limit, or what makes a tie. Its name is its conf key. */
sealed abstract class FlipThreshold(conf: ConfEntry[_], isWhole: Boolean) extends FlipInput(conf.key, conf.unit, isWhole) {

  final override private[decide] def of(decision: JoinDecision, thresholds: Thresholds): Option[Double] = {
    val reasons = decision.reason +: decision.filterReason +: decision.options.map(_.reason)
    if (reasons.exists(_.confKey == name)) Some(value(thresholds)).filter(_ > 0) else None
  }

  final override private[decide] def changed(
      facts: JoinFacts,
      thresholds: Thresholds,
      value: Double
  ): Option[(JoinFacts, Thresholds)] = updated(thresholds, value).map((facts, _))

  private[decide] def value(thresholds: Thresholds): Double
  private[decide] def updated(thresholds: Thresholds, value: Double): Option[Thresholds]
}

object FlipThreshold {

  private final case class Whole(entry: ConfEntry[Long]) extends FlipThreshold(entry, isWhole = true) {
    override private[decide] def nearestAllowed(value: Double): Double = entry.allowed.nearest(value.toLong).toDouble
    override private[decide] def value(thresholds: Thresholds): Double = thresholds(entry).toDouble
    override private[decide] def updated(thresholds: Thresholds, value: Double): Option[Thresholds] =
      Some(value.toLong).filter(entry.allowed.contains).map(thresholds.updated(entry, _))
  }

  private final case class Fraction(entry: ConfEntry[Double]) extends FlipThreshold(entry, isWhole = false) {
    override private[decide] def nearestAllowed(value: Double): Double = entry.allowed.nearest(value)
    override private[decide] def value(thresholds: Thresholds): Double = thresholds(entry)
    override private[decide] def updated(thresholds: Thresholds, value: Double): Option[Thresholds] =
      Some(value).filter(entry.allowed.contains).map(thresholds.updated(entry, _))
  }

  /** Those by which a decision names a limit as its reason. Where Spark allows less than `broadcast.maxMemoryBytes`, the reason names Spark's
    * key. What `memory.maxShare` and `wait.*` allowed is a fact when a join is decided.
    */
  val All: Seq[FlipThreshold] = Seq(
    Fraction(AqeConf.FilterMaxPassRate),
    Whole(AqeConf.FilterMinProbeRows),
    Whole(AqeConf.FilterMaxBytes),
    Whole(AqeConf.BroadcastMaxRows),
    Whole(AqeConf.BroadcastMaxMemoryBytes),
    Fraction(AqeConf.ShuffledHashMaxShare),
    Fraction(AqeConf.CostTieRatio),
    Fraction(AqeConf.CostJobLaunchNanos)
  )
}
