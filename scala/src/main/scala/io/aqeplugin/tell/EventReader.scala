package io.aqeplugin.tell

import com.fasterxml.jackson.core.JsonParser
import com.fasterxml.jackson.databind.{BeanProperty, DeserializationContext, JsonDeserializer, JsonNode}
import com.fasterxml.jackson.databind.deser.ContextualDeserializer
import com.fasterxml.jackson.databind.deser.std.StdDeserializer

/** Reads our events back from an event log for Spark. A log from another version may have other fields or types, and an error here would
  * stop Spark from reading the whole log. So a missing or non-numeric value is read as 0, or as -1 for an id; users of the event check its
  * `schemaVersion`.
  */
private[tell] final class EventReader(of: Class[_]) extends StdDeserializer[AnyRef](of) with ContextualDeserializer {
  def this() = this(classOf[AnyRef])

  private lazy val constructor = of.getConstructors.head
  private lazy val parameters = constructor.getParameters.toSeq

  override def createContextual(context: DeserializationContext, property: BeanProperty): JsonDeserializer[_] =
    new EventReader(context.getContextualType.getRawClass)

  override def deserialize(parser: JsonParser, context: DeserializationContext): AnyRef = {
    val fields: JsonNode = context.readTree(parser)
    val values = parameters.map(parameter => value(fields.path(parameter.getName), parameter.getName, parameter.getType))
    constructor.newInstance(values.map(_.asInstanceOf[AnyRef]): _*).asInstanceOf[AnyRef]
  }

  private def value(field: JsonNode, name: String, of: Class[_]): Any =
    if (of == classOf[Int]) field.asInt(0)
    else if (of == classOf[Long]) field.asLong(if (name.endsWith("Id")) -1L else 0L)
    else if (of == classOf[Boolean]) field.asBoolean(false)
    else if (of == classOf[String]) field.asText("")
    else if (of == classOf[Option[_]]) Option(field.textValue)
    else field
}
