package io.aqeplugin.tell

import com.fasterxml.jackson.databind.node.ObjectNode

import io.aqeplugin.decide._

/** The one JSON form of a decision and of what goes into it, shared by the event log, the SQL function and the Python half.
  *
  * Reading what was written gives the same value. Unknown fields are skipped, a missing one is named: `Left("facts.build.rows: missing")`.
  */
object DecisionJson {

  /** Raised when a field changes its meaning or goes; a new optional field does not raise it. */
  val SchemaVersion = 1

  def write(decision: JoinDecision): ObjectNode = {
    val node = JsonFields.emptyObject.put("schemaVersion", SchemaVersion)
    node.set[ObjectNode]("facts", FactsJson.write(decision.facts))
    node.put("choice", decision.choice.name)
    node.set[ObjectNode]("reason", writeReason(decision.reason))
    node.put("buildFilter", decision.buildFilter)
    node.set[ObjectNode]("filterReason", writeReason(decision.filterReason))
    node.put("passRate", decision.passRate)
    val options = node.putArray("options")
    decision.options.foreach(option => options.add(writeOption(option)))
    node
  }

  def read(node: ObjectNode): Either[String, JoinDecision] = {
    val fields = new JsonFields(node, "")
    for {
      _ <- checkVersion(fields)
      facts <- fields.inner("facts")(FactsJson.read)
      choice <- fields.named("choice", Strategy.fromName)
      reason <- fields.inner("reason")(readReason)
      buildFilter <- fields.boolean("buildFilter")
      filterReason <- fields.inner("filterReason")(readReason)
      passRate <- fields.double("passRate")
      options <- fields.inners("options")(readOption)
    } yield JoinDecision(facts, choice, reason, buildFilter, filterReason, passRate, options)
  }

  def writeFacts(facts: JoinFacts): ObjectNode = FactsJson.write(facts)

  def readFacts(node: ObjectNode): Either[String, JoinFacts] = FactsJson.read(new JsonFields(node, ""))

  def writeThresholds(thresholds: Thresholds): ObjectNode = ThresholdsJson.write(thresholds)

  /** Thresholds out of all or some of their conf keys. Names that are no threshold are skipped. */
  def readThresholds(node: ObjectNode): Either[String, Thresholds] = ThresholdsJson.read(node, strict = false)

  def writeReason(reason: Reason): ObjectNode = {
    val node = JsonFields.emptyObject.put("code", reason.code.name)
    putDouble(node, "measured", reason.measured)
    putDouble(node, "limit", reason.limit)
    node.put("unit", reason.unit).put("confKey", reason.confKey)
  }

  def readReason(node: ObjectNode): Either[String, Reason] = readReason(new JsonFields(node, ""))

  def writeWait(decision: WaitDecision): ObjectNode = {
    val node = JsonFields.emptyObject.put("waits", decision.waits)
    node.set[ObjectNode]("reason", writeReason(decision.reason))
    node.put("savingMillis", decision.savingMillis).put("idleMillis", decision.idleMillis)
  }

  def readWait(node: ObjectNode): Either[String, WaitDecision] = {
    val fields = new JsonFields(node, "")
    for {
      waits <- fields.boolean("waits")
      reason <- fields.inner("reason")(readReason)
      savingMillis <- fields.double("savingMillis")
      idleMillis <- fields.double("idleMillis")
    } yield WaitDecision(waits, reason, savingMillis, idleMillis)
  }

  /** The object that `text` holds, for the readers above. */
  def parse(text: String): Either[String, ObjectNode] = JsonFields.parse(text)

  /** `node` on one line. */
  def render(node: ObjectNode): String = JsonFields.render(node)

  private def checkVersion(fields: JsonFields): Either[String, Unit] = fields.int("schemaVersion").flatMap { version =>
    Either.cond(version == SchemaVersion, (), s"schemaVersion: $version is not the version that this plugin reads, $SchemaVersion")
  }

  private def readReason(fields: JsonFields): Either[String, Reason] = for {
    code <- fields.named("code", ReasonCode.fromName)
    measured <- fields.optionalDouble("measured")
    limit <- fields.optionalDouble("limit")
    unit <- fields.text("unit")
    confKey <- fields.text("confKey")
  } yield Reason(code, measured, limit, unit, confKey)

  private def writeOption(option: WeighedOption): ObjectNode = {
    val node = JsonFields.emptyObject.put("strategy", option.strategy.name).put("withFilter", option.withFilter)
    putDouble(node, "costMillis", option.costMillis)
    node.set[ObjectNode]("reason", writeReason(option.reason))
    node
  }

  private def readOption(fields: JsonFields): Either[String, WeighedOption] = for {
    strategy <- fields.named("strategy", Strategy.fromName)
    withFilter <- fields.boolean("withFilter")
    costMillis <- fields.optionalDouble("costMillis")
    reason <- fields.inner("reason")(readReason)
  } yield WeighedOption(strategy, withFilter, costMillis, reason)

  private def putDouble(node: ObjectNode, name: String, value: Option[Double]): Unit = {
    value.fold(node.putNull(name))(node.put(name, _))
    ()
  }
}
