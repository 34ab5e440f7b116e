package io.aqeplugin.tell

import io.aqeplugin.decide.{FlipPoints, JoinDecision, Thresholds}
import io.aqeplugin.metrics.{Faults, Survivable}

/** The flip points of a query's decisions, sought when somebody asks for them: about 1 ms a join in warm code. */
final class JoinFlips(decisions: Seq[JoinDecision], thresholds: Option[Thresholds]) {
  lazy val all: Seq[JoinFlip] =
    try
      for (limits <- thresholds.toSeq; decision <- decisions.take(JoinFlips.MaxJoins); point <- FlipPoints.of(decision, limits))
        yield JoinFlip(decision.facts.joinId, point)
    catch {
      case Survivable(error) =>
        Faults.note("flip points", "decisions are shown without them", error)
        Nil
    }
}

object JoinFlips {
  private val MaxJoins = 64
  private val MillisPerJoin = 250L

  val None: JoinFlips = new JoinFlips(Nil, scala.None)

  /** The flip points that are written down with the end of a query: of so many joins that they take less than a hundredth of its time, the dearest
    * ones. Of joins that cost little, nobody asks where they would be decided otherwise.
    */
  def toRecord(decisions: Seq[JoinDecision], thresholds: Option[Thresholds], durationMillis: Long): Seq[JoinFlip] =
    new JoinFlips(decisions.sortBy(-dearestMillis(_)).take(joinsToRecord(durationMillis)), thresholds).all

  private def dearestMillis(decision: JoinDecision): Double = decision.options.flatMap(_.costMillis).maxOption.getOrElse(0.0)

  private[tell] def joinsToRecord(durationMillis: Long): Int = math.min(MaxJoins.toLong, durationMillis / MillisPerJoin).toInt
}
