package io.aqeplugin.tell

import com.fasterxml.jackson.databind.node.ObjectNode

import io.aqeplugin.decide._

/** The JSON form of a decision and of its input, shared by the event log, the SQL function and the Python half.
  *
  * Reading a written document gives the same value. Unknown fields are skipped; a missing field is an error: `Left("facts.build.rows:
  * missing")`.
  */
object DecisionJson {

  /** Incremented when a field changes its meaning or is removed; a new optional field does not increment it. */
  val SchemaVersion = 1

  def write(decision: JoinDecision): ObjectNode = {
    val node = JsonFields.emptyObject.put("schemaVersion", SchemaVersion)
    node.set[ObjectNode]("facts", FactsJson.write(decision.facts))
    node.put("choice", decision.choice.name)
    node.set[ObjectNode]("reason", ReasonJson.write(decision.reason))
    node.put("buildFilter", decision.buildFilter)
    node.set[ObjectNode]("filterReason", ReasonJson.write(decision.filterReason))
    node.put("passRate", decision.passRate).put("passRateSource", decision.passRateSource.name)
    val options = node.putArray("options")
    decision.options.foreach(option => options.add(writeOption(option)))
    val flips = node.putArray("flipPoints")
    decision.flipPoints.foreach { flip =>
      flips.addObject().put("fact", flip.fact.name).put("value", flip.value).put("unit", flip.fact.unit)
        .put("choice", flip.choice.name).put("buildFilter", flip.buildFilter)
    }
    node
  }

  def read(node: ObjectNode): Either[String, JoinDecision] = readFields(new JsonFields(node, ""))

  private[tell] def readFields(fields: JsonFields): Either[String, JoinDecision] = for {
    _ <- checkVersion(fields)
    facts <- fields.inner("facts")(FactsJson.read)
    choice <- fields.named("choice", Strategy.fromName)
    reason <- fields.inner("reason")(ReasonJson.read)
    buildFilter <- fields.boolean("buildFilter")
    filterReason <- fields.inner("filterReason")(ReasonJson.read)
    passRate <- fields.double("passRate")
    passRateSource <- fields.optionalNamed("passRateSource", PassRateSource.fromName)
    taken <- if (choice == Strategy.LeaveToSpark) Right(None) else option("choice", choice, buildFilter).map(Some(_))
    options <- fields.inners("options")(readOption)
    flipPoints <- fields.optionalInners("flipPoints")(readFlipPoint)
  } yield JoinDecision(
    facts,
    taken.map(_.method),
    reason,
    buildFilter,
    filterReason,
    passRate,
    passRateSource.getOrElse(PassRateSource.Unknown),
    options,
    flipPoints
  )

  def writeFacts(facts: JoinFacts): ObjectNode = FactsJson.write(facts)

  def readFacts(node: ObjectNode): Either[String, JoinFacts] = FactsJson.read(new JsonFields(node, ""))

  /** The object in `text`, for the readers above. */
  def parse(text: String): Either[String, ObjectNode] = JsonFields.parse(text)

  /** `node` on one line. */
  def render(node: ObjectNode): String = JsonFields.render(node)

  private def checkVersion(fields: JsonFields): Either[String, Unit] = fields.int("schemaVersion").flatMap { version =>
    Either.cond(version == SchemaVersion, (), s"schemaVersion: $version is not the version that this plugin reads, $SchemaVersion")
  }

  private def writeOption(weighed: WeighedOption): ObjectNode = {
    val node = JsonFields.emptyObject.put("strategy", weighed.option.strategy.name).put("withFilter", weighed.option.withFilter)
    ReasonJson.putDouble(node, "costMillis", weighed.costMillis)
    node.set[ObjectNode]("reason", ReasonJson.write(weighed.reason))
    val terms = node.putArray("terms")
    weighed.terms.foreach(term => terms.addObject().put("name", term.name).put("nanos", term.nanos))
    node
  }

  private def readOption(fields: JsonFields): Either[String, WeighedOption] = for {
    strategy <- fields.named("strategy", Strategy.fromName)
    withFilter <- fields.boolean("withFilter")
    known <- option("strategy", strategy, withFilter)
    costMillis <- fields.optionalDouble("costMillis")
    reason <- fields.inner("reason")(ReasonJson.read)
    terms <- fields.optionalInners("terms")(readTerm)
  } yield WeighedOption(known, costMillis, reason, terms)

  private def readTerm(fields: JsonFields): Either[String, CostTerm] =
    for (name <- fields.text("name"); nanos <- fields.double("nanos")) yield CostTerm(name, nanos)

  private def readFlipPoint(fields: JsonFields): Either[String, FlipPoint] = for {
    fact <- fields.named("fact", FlipFact.fromName)
    value <- fields.double("value")
    choice <- fields.named("choice", Strategy.fromName)
    buildFilter <- fields.boolean("buildFilter")
  } yield FlipPoint(fact, value, choice, buildFilter)

  private def option(name: String, strategy: Strategy, withFilter: Boolean): Either[String, JoinOption] =
    JoinOption.of(strategy, withFilter).toRight(s"$name: ${strategy.name} ${if (withFilter) "with" else "without"} a filter is no option")
}
