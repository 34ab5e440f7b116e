package io.aqeplugin.tell

import com.fasterxml.jackson.databind.node.ObjectNode

import io.aqeplugin.decide.{Reason, ReasonCode, WaitDecision, WaitEnd, WaitOutcome}

/** [[Reason]] and [[WaitDecision]] as JSON, for both facts and decisions. */
private[tell] object ReasonJson {

  def write(reason: Reason): ObjectNode = {
    val node = JsonFields.emptyObject.put("code", reason.code.name)
    putDouble(node, "measured", reason.measured)
    putDouble(node, "limit", reason.limit)
    node.put("unit", reason.unit).put("confKey", reason.confKey).put("subject", Some(reason.subject).filter(_.nonEmpty).orNull)
  }

  def read(fields: JsonFields): Either[String, Reason] = for {
    code <- fields.named("code", ReasonCode.fromName)
    measured <- fields.optionalDouble("measured")
    limit <- fields.optionalDouble("limit")
    unit <- fields.text("unit")
    confKey <- fields.text("confKey")
    subject <- fields.optionalText("subject")
  } yield Reason(code, measured, limit, unit, confKey, subject.getOrElse(""))

  def writeWait(decision: WaitDecision): ObjectNode = {
    val node = JsonFields.emptyObject.put("waits", decision.waits)
    node.set[ObjectNode]("reason", write(decision.reason))
    node.put("savingMillis", decision.savingMillis).put("idleMillis", decision.idleMillis).put("buildMillis", decision.buildMillis)
    node.put("outcome", decision.outcome.map(_.end.name).orNull)
    putDouble(node, "waitedMillis", decision.outcome.map(_.millis))
    node
  }

  def readWait(fields: JsonFields): Either[String, WaitDecision] = for {
    waits <- fields.boolean("waits")
    reason <- fields.inner("reason")(read)
    savingMillis <- fields.double("savingMillis")
    idleMillis <- fields.double("idleMillis")
    buildMillis <- fields.optionalDouble("buildMillis")
    end <- fields.optionalNamed("outcome", WaitEnd.fromName)
    waitedMillis <- fields.optionalDouble("waitedMillis")
  } yield WaitDecision(
    waits,
    reason,
    savingMillis,
    idleMillis,
    buildMillis.getOrElse(0.0),
    end.zip(waitedMillis).map { case (how, millis) => WaitOutcome(how, millis) }
  )

  /** A value that was not measured is null. */
  def putDouble(node: ObjectNode, name: String, value: Option[Double]): Unit = {
    val _ = value.fold(node.putNull(name))(node.put(name, _))
  }
}
