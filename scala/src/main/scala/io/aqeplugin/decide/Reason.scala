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
