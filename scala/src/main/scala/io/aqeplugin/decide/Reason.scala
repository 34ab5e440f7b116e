package io.aqeplugin.decide

/** Why something was done or not: a stable code with the numbers behind it.
  *
  * @param measured
  *   the value that was compared with the limit, if any
  * @param limit
  *   the limit
  * @param unit
  *   unit of both numbers (`bytes`, `rows`, `millis`, `ratio`, …), empty without numbers
  * @param confKey
  *   the conf key that sets the limit, empty when none does
  */
final case class Reason(
    code: ReasonCode,
    measured: Option[Double] = None,
    limit: Option[Double] = None,
    unit: String = "",
    confKey: String = ""
)
