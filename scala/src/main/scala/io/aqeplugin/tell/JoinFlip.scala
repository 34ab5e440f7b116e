package io.aqeplugin.tell

import io.aqeplugin.decide.{FlipInput, FlipPoint, Strategy, Told}

/** A [[FlipPoint]] of one join of a query. */
@Told(
  name = "FlipPoint",
  doc = "the value of a fact or a threshold from which on a join's decision is another one, if nothing else changes"
)
final case class JoinFlip(
    @Told(doc = "the join") joinId: String,
    @Told(doc = "the fact, or the conf key of a threshold that refused an option") fact: FlipInput,
    @Told(doc = "unit of both values") unit: String,
    @Told(doc = "the value in the decision", unit = "see unit") actual: Double,
    @Told(doc = "the nearest value with another decision, at most 1 % off", unit = "see unit") value: Double,
    @Told(doc = "the decision there") choice: Strategy,
    @Told(doc = "whether it has a filter") withFilter: Boolean
)

object JoinFlip {
  def apply(joinId: String, point: FlipPoint): JoinFlip =
    JoinFlip(joinId, point.input, point.input.unit, point.actual, point.value, point.choice, point.withFilter)
}
