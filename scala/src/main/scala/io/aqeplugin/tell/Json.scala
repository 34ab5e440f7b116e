package io.aqeplugin.tell

import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory, ObjectNode}

/** JSON as text. */
private[aqeplugin] object Json {
  private val Mapper = new ObjectMapper()
  val Nodes: JsonNodeFactory = JsonNodeFactory.instance

  def array(elements: Seq[JsonNode]): ArrayNode = elements.foldLeft(Nodes.arrayNode())(_.add(_))

  def parse(text: String): Either[String, JsonNode] =
    Try(Option(Mapper.readTree(text))).toEither.left.map(error => s"not JSON: ${firstLine(error)}").flatMap(_.toRight("not JSON: no text"))

  def parseObject(text: String): Either[String, ObjectNode] = parse(text).flatMap {
    case node: ObjectNode => Right(node)
    case _                => Left("not a JSON object")
  }

  /** `node` on one line. */
  def render(node: JsonNode): String = Mapper.writeValueAsString(node)

  private def firstLine(error: Throwable): String = Option(error.getMessage).flatMap(_.linesIterator.nextOption()).getOrElse(error.toString)
}
