package io.aqeplugin.tell

import com.fasterxml.jackson.core.JsonParser
import com.fasterxml.jackson.databind.{DeserializationContext, JsonNode}
import com.fasterxml.jackson.databind.deser.std.StdDeserializer

/** Reads our events back from an event log for Spark. A log from another version may have other fields or types, and an error here would
  * stop Spark from reading the whole log. So a missing or non-numeric value is read as 0, or as -1 for an id; users of the event check its
  * `schemaVersion`.
  */
private[tell] sealed abstract class EventReader[A](kind: Class[A]) extends StdDeserializer[A](kind) {
  protected def of(fields: JsonNode): A

  final protected def text(fields: JsonNode, name: String): Option[String] = Option(fields.path(name).textValue)

  final override def deserialize(parser: JsonParser, context: DeserializationContext): A = of(context.readTree(parser))
}

private[tell] final class JoinDecidedReader extends EventReader[JoinDecided](classOf[JoinDecided]) {
  protected def of(fields: JsonNode): JoinDecided = JoinDecided(
    fields.path("schemaVersion").asInt(0),
    fields.path("executionId").asLong(-1),
    fields.path("timeMillis").asLong(0),
    fields.path("mode").asText(""),
    fields.path("decision"),
    fields.path("filters"),
    text(fields, "arm")
  )
}

private[tell] final class LimitDecidedReader extends EventReader[LimitDecided](classOf[LimitDecided]) {
  protected def of(fields: JsonNode): LimitDecided = LimitDecided(
    fields.path("schemaVersion").asInt(0),
    fields.path("executionId").asLong(-1),
    fields.path("timeMillis").asLong(0),
    fields.path("mode").asText(""),
    fields.path("applied").asBoolean(false),
    fields.path("decision"),
    fields.path("outcome"),
    text(fields, "arm")
  )
}

private[tell] final class PredicateInferredReader extends EventReader[PredicateInferred](classOf[PredicateInferred]) {
  protected def of(fields: JsonNode): PredicateInferred = PredicateInferred(
    fields.path("schemaVersion").asInt(0),
    fields.path("executionId").asLong(-1),
    fields.path("timeMillis").asLong(0),
    fields.path("mode").asText(""),
    fields.path("table").asText(""),
    fields.path("predicate").asText(""),
    fields.path("inferredBy").asText(""),
    fields.path("applied").asBoolean(false),
    text(fields, "arm")
  )
}

private[tell] final class QueryEndedReader extends EventReader[QueryEnded](classOf[QueryEnded]) {
  protected def of(fields: JsonNode): QueryEnded = QueryEnded(
    fields.path("schemaVersion").asInt(0),
    fields.path("executionId").asLong(-1),
    fields.path("timeMillis").asLong(0),
    fields.path("durationMillis").asLong(0),
    fields.path("ruleMillis").asLong(0),
    fields.path("planned").asInt(0),
    fields.path("applied").asInt(0),
    fields.path("errors").asLong(0),
    fields.path("outcomes"),
    text(fields, "arm"),
    text(fields, "badConf"),
    fields.path("flips")
  )
}
