package io.aqeplugin.tell

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.aqeplugin.decide._

/** The JSON form of a decision, shared by the event log, the SQL function and the Python half: see [[Form]]. */
object DecisionJson {

  /** Incremented when a field changes its meaning or is removed; a new optional field does not increment it. */
  val SchemaVersion = 1

  private val form = Form.of[JoinDecision]
  private val version = FieldSchema("schemaVersion", "integer", "", "version of this schema")

  private[tell] lazy val Facts: Form[JoinFacts] = Form.of[JoinFacts]

  private[tell] def objects: Seq[ObjectSchema] = form.schema.copy(fields = version +: form.schema.fields) +: form.objects.tail

  def write(decision: JoinDecision): ObjectNode = {
    val node = Json.Nodes.objectNode().put(version.name, SchemaVersion)
    form.writeInto(node, decision)
    node
  }

  def read(node: JsonNode): Either[String, JoinDecision] = for {
    found <- Option(node.get(version.name)).toRight(s"${version.name}: missing").flatMap(Kind.Whole.read(_, version.name))
    _ <- Either.cond(found == SchemaVersion, (), s"schemaVersion: $found is not the version that this plugin reads, $SchemaVersion")
    decision <- form.read(node)
    option = Form.NamedOption(decision.choice, decision.buildFilter)
    _ <- Either.cond(decision.choice == Strategy.LeaveToSpark || decision.taken.isDefined, (), s"choice: ${option.isNone}")
  } yield decision

  def parse(text: String): Either[String, JoinDecision] = Json.parseObject(text).flatMap(read)
}
