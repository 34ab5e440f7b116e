package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf

/** The value of an input from which on the decision is another one, if nothing else changes.
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
final case class FlipPoint(input: FlipInput, actual: Double, value: Double, choice: Strategy, withFilter: Boolean)

/** Finds the flip points of a decision: for each fact, and each threshold that refused an option, it decides again with the value four times as
  * large, sixteen times, and so on to a thousand times or to the end of what its conf allows, likewise downwards, and halves the last
  * interval. Two flips inside one such step may go unseen.
  *
  * A join takes 40 to 120 decisions, and ten or so more for a threshold, so a query that is being planned must not wait for it.
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
        for (input <- FlipInput.All; actual <- input.actual(decision, thresholds).toSeq; up <- Seq(true, false))
          yield search(decision, thresholds, input, actual, up)
      points.flatten.sortBy(point => math.abs(math.log(math.max(0.5, point.value) / point.actual)))
    }

  /** The decision with another value of one input; none for a value that is not allowed. */
  private[decide] def decided(decision: JoinDecision, thresholds: Thresholds, input: FlipInput, value: Double): Option[JoinDecision] =
    input.moved(decision.facts, thresholds, value).map { case (facts, limits) => DecideJoin.decide(facts, limits) }

  private def search(decision: JoinDecision, thresholds: Thresholds, input: FlipInput, actual: Double, up: Boolean): Option[FlipPoint] = {
    def other(value: Double): Option[JoinDecision] = decided(decision, thresholds, input, value).filterNot(isSame(_, decision))
    val steps = (1 to Steps).map(step => actual * math.pow(Step, (if (up) step else -step).toDouble))
    // A step beyond the last value that is allowed goes to this one.
    val values = (actual +: (if (input.isWhole) steps.map(math.floor) else steps).map(input.nearestAllowed)).distinct
    for {
      (near, far) <- values.zip(values.drop(1)).find { case (_, far) => other(far).isDefined }
      value = nearest(near, far, input.isWhole, other(_).isDefined)
      there <- other(value)
    } yield FlipPoint(input, actual, value, there.choice, there.buildFilter)
  }

  private def isSame(one: JoinDecision, other: JoinDecision): Boolean = one.choice == other.choice && one.buildFilter == other.buildFilter

  /** The value nearest to `near` with another decision, of those between it and `far`, which has one. */
  @scala.annotation.tailrec
  private def nearest(near: Double, far: Double, isWhole: Boolean, isOther: Double => Boolean): Double = {
    val (low, high) = (math.min(near, far), math.max(near, far))
    if (isWhole && high - low <= 1 || high <= low * Precision) far
    else {
      val geometric = math.sqrt(low * high)
      val middle =
        if (!isWhole) geometric else if (low == 0) math.floor(high / 2) else math.min(high - 1, math.max(low + 1, math.floor(geometric)))
      if (isOther(middle)) nearest(near, middle, isWhole, isOther) else nearest(middle, far, isWhole, isOther)
    }
  }
}
