package io.aqeplugin.logs

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8

import scala.annotation.tailrec
import scala.util.Try

import com.fasterxml.jackson.core.{JsonFactoryBuilder, JsonGenerator, JsonParser, JsonToken, StreamReadConstraints}

/** Reduces an event to a few of its members: Spark's events contain whole plans. The rest is never built in memory, however large or
  * deep it is.
  */
private[logs] object KeptMembers {

  private val Json = new JsonFactoryBuilder()
    .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(Int.MaxValue).maxStringLength(Int.MaxValue).build())
    .build()

  /** The object with only those of its own members, unchanged; none if `line` is not a whole object. */
  def of(line: Array[Byte], members: Set[String]): Option[String] = Try {
    val kept = new ByteArrayOutputStream
    val parser = Json.createParser(line)
    val generator = Json.createGenerator(kept)
    val whole = parser.nextToken() == JsonToken.START_OBJECT && copied(parser, generator, members)
    generator.close()
    Option.when(whole)(new String(kept.toByteArray, UTF_8))
  }.toOption.flatten

  private def copied(parser: JsonParser, generator: JsonGenerator, members: Set[String]): Boolean = {
    generator.writeStartObject()
    @tailrec def rest(): Boolean =
      parser.nextToken() match {
        case JsonToken.FIELD_NAME =>
          val kept = members.contains(parser.currentName())
          if (kept) generator.writeFieldName(parser.currentName())
          parser.nextToken()
          if (kept) generator.copyCurrentStructure(parser) else parser.skipChildren()
          rest()
        case token => token == JsonToken.END_OBJECT
      }
    val whole = rest()
    generator.writeEndObject()
    whole
  }
}
