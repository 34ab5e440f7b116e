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
  * @param subject
  *   the name of what the reason is about, such as the class of an operator; empty when the code says it
  */
final case class Reason(
    code: ReasonCode,
    measured: Option[Double] = None,
    limit: Option[Double] = None,
    unit: String = "",
    confKey: String = "",
    subject: String = ""
)

object Reason {

  /** The reason of a value above its limit; none if it is not. */
  def above(code: ReasonCode, measured: Double, limit: Double, unit: String, confKey: String): Option[Reason] =
    if (measured > limit) Some(Reason(code, Some(measured), Some(limit), unit, confKey)) else None

  /** The reason of a value below its limit; none if it is not. */
  def below(code: ReasonCode, measured: Double, limit: Double, unit: String, confKey: String): Option[Reason] =
    if (measured < limit) Some(Reason(code, Some(measured), Some(limit), unit, confKey)) else None
}
