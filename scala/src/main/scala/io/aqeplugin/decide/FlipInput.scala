package io.aqeplugin.decide

import io.aqeplugin.conf.{AqeConf, ConfEntry, Named, Names}
import io.aqeplugin.decide.ProbeFacts.times

/** An input of a decision that can be changed alone. */
sealed trait FlipInput extends Named {
  def unit: String

  /** Whether its values are whole numbers. */
  private[decide] def isWhole: Boolean

  /** The value with which `decision` was made; none if it is unknown or not positive, or took no part. */
  private[decide] def actual(decision: JoinDecision, thresholds: Thresholds): Option[Double]

  /** Facts and thresholds with another value, and what follows from it; none for a value that is not allowed. */
  private[decide] def moved(facts: JoinFacts, thresholds: Thresholds, value: Double): Option[(JoinFacts, Thresholds)]

  /** The nearest value that is allowed. */
  private[decide] def nearestAllowed(value: Double): Double
}

object FlipInput extends Names[FlipInput] {
  val All: Seq[FlipInput] = FlipFact.All ++ FlipThreshold.All
}

/** A fact of a join.
  *
  * @param value
  *   the value in facts; none if it is unknown
  * @param changed
  *   the facts with another value, and what follows from it
  */
final class FlipFact private (
    override val name: String,
    override val unit: String,
    val meaning: String,
    value: JoinFacts => Option[Long],
    val changed: (JoinFacts, Long) => JoinFacts
) extends FlipInput {
  override private[decide] def isWhole: Boolean = true

  /** The value in `facts`; none if it is unknown or not positive. */
  def of(facts: JoinFacts): Option[Long] = value(facts).filter(_ > 0)

  override private[decide] def actual(decision: JoinDecision, thresholds: Thresholds): Option[Double] = of(decision.facts).map(_.toDouble)

  override private[decide] def moved(facts: JoinFacts, thresholds: Thresholds, value: Double): Option[(JoinFacts, Thresholds)] =
    Option.when(value < Long.MaxValue)((changed(facts, value.toLong), thresholds))

  override private[decide] def nearestAllowed(value: Double): Double = value
}

object FlipFact {
  private def fact(name: String, unit: String, meaning: String)(of: JoinFacts => Option[Long])(changed: (JoinFacts, Long) => JoinFacts) =
    new FlipFact(name, unit, meaning, of, changed)

  /** The distinct keys change with the rows, and so do those found in a sample of the probe side. */
  private val buildRows = fact("build_rows", "rows", "rows of the build side")(facts => Some(facts.build.rows)) { (facts, value) =>
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

  private val buildRowBytes =
    fact("build_row_bytes", "bytes", "bytes of a build row in memory")(facts => Some(facts.build.memoryBytesPerRow)) { (facts, value) =>
      facts.copy(build = facts.build.copy(memoryBytesPerRow = value))
    }

  /** The rows of the scans, and of what lies between, change with those that reach the join. */
  private val probeRows = fact("probe_rows", "rows", "rows of the probe side")(facts => Some(facts.probe.rows)) { (facts, value) =>
    facts.copy(probe = facts.probe.scaled(value.toDouble / facts.probe.rows).copy(rows = value))
  }

  /** The rows of the build side stay, so its predicates keep another share. */
  private val tableRows = fact("build_table_rows", "rows", "rows of the build side's table")(_.build.originRows) { (facts, value) =>
    val build = facts.build
    val by = value.toDouble / build.originRows.getOrElse(value).toDouble
    val keys = build.keys.copy(originDistinct = build.keys.originDistinct.map(times(_, by)))
    facts.copy(build = build.copy(originRows = Some(math.max(value, build.rows)), keys = keys))
  }

  val All: Seq[FlipFact] = Seq(buildRows, buildRowBytes, probeRows, tableRows)
}

/** A threshold that refused an option of the decision: a limit, or what makes a tie. Its name is its conf key. */
sealed abstract class FlipThreshold extends FlipInput

object FlipThreshold {

  private final class OfEntry[A](entry: ConfEntry[A], override val isWhole: Boolean, valueOf: Double => A, toDouble: A => Double)
      extends FlipThreshold {
    override def name: String = entry.key
    override def unit: String = entry.unit

    override private[decide] def actual(decision: JoinDecision, thresholds: Thresholds): Option[Double] = {
      val reasons = decision.reason +: decision.filterReason +: decision.options.map(_.reason)
      if (reasons.exists(_.confKey == name)) Some(toDouble(thresholds(entry))).filter(_ > 0) else None
    }

    override private[decide] def moved(facts: JoinFacts, thresholds: Thresholds, value: Double): Option[(JoinFacts, Thresholds)] =
      Some(valueOf(value)).filter(entry.allowed.contains).map(allowed => (facts, thresholds.updated(entry, allowed)))

    override private[decide] def nearestAllowed(value: Double): Double = toDouble(entry.allowed.nearest(valueOf(value)))
  }

  private def whole(entry: ConfEntry[Long]): FlipThreshold = new OfEntry[Long](entry, isWhole = true, _.toLong, _.toDouble)
  private def fraction(entry: ConfEntry[Double]): FlipThreshold = new OfEntry[Double](entry, isWhole = false, identity, identity)

  /** Those by which a decision names a limit as its reason. Where Spark allows less than `broadcast.maxMemoryBytes`, the reason names Spark's
    * key. What `memory.maxShare` and `wait.*` allowed is a fact when a join is decided.
    */
  val All: Seq[FlipThreshold] = Seq(
    fraction(AqeConf.FilterMaxPassRate),
    whole(AqeConf.FilterMinProbeRows),
    whole(AqeConf.FilterMaxBytes),
    whole(AqeConf.BroadcastMaxRows),
    whole(AqeConf.BroadcastMaxMemoryBytes),
    fraction(AqeConf.ShuffledHashMaxShare),
    fraction(AqeConf.CostTieRatio),
    fraction(AqeConf.CostJobLaunchNanos)
  )
}
