package io.aqeplugin.decide

/** Why something was, or was not, done: a stable code with the numbers behind it.
  *
  * @param measured
  *   the value that was looked at, when there is one
  * @param limit
  *   what it was held against
  * @param unit
  *   unit of both (`bytes`, `rows`, `millis`, `ratio`, …), empty when there is no number
  * @param confKey
  *   the conf key that moves the limit, empty when none does
  */
final case class Reason(
    code: ReasonCode,
    measured: Option[Double] = None,
    limit: Option[Double] = None,
    unit: String = "",
    confKey: String = ""
)

/** Stable codes; `name` is what is logged, and never changes its meaning once released. */
sealed abstract class ReasonCode(val name: String, val meaning: String)

object ReasonCode {
  case object Cheapest extends ReasonCode("CHEAPEST", "the cheapest option whose memory fits")
  case object Costlier extends ReasonCode("COSTLIER", "another option is cheaper")
  case object Hint extends ReasonCode("HINT", "the user's own hint decides")
  case object FilterPays extends ReasonCode("FILTER_PAYS", "the rows a filter removes cost more than building and checking it")
  case object PassRateTooHigh extends ReasonCode("PASS_RATE_TOO_HIGH", "too many probe rows would pass the filter")

  val All: Seq[ReasonCode] = Seq(Cheapest, Costlier, Hint, FilterPays, PassRateTooHigh)
}
