package io.aqeplugin.decide

/** Why something was done or not: a stable code with the numbers behind it. */
@Told(doc = "a stable code with the numbers behind it")
final case class Reason(
    @Told(doc = "stable code, see reason_codes.json") code: ReasonCode,
    @Told(doc = "the value that was compared with the limit", unit = "see unit", kind = "number") measured: Option[Double] = None,
    @Told(doc = "the limit", unit = "see unit", kind = "number") limit: Option[Double] = None,
    @Told(doc = "unit of both numbers; empty without numbers") unit: String = "",
    @Told(doc = "the conf key that sets the limit; empty when none does") confKey: String = "",
    @Told(doc = "the name of what the reason is about, such as the class of an operator", optional = true) subject: String = ""
)

object Reason {

  /** The reason of a value above its limit; none if it is not. */
  def above(code: ReasonCode, measured: Double, limit: Double, unit: String, confKey: String): Option[Reason] =
    if (measured > limit) Some(Reason(code, Some(measured), Some(limit), unit, confKey)) else None

  /** The reason of a value below its limit; none if it is not. */
  def below(code: ReasonCode, measured: Double, limit: Double, unit: String, confKey: String): Option[Reason] =
    if (measured < limit) Some(Reason(code, Some(measured), Some(limit), unit, confKey)) else None
}
