package io.aqeplugin.tell

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

/** Reads the fields of one JSON object. Every error has the form `<path>: <problem>`, with the path from the root of the document.
  *
  * Other fields are ignored, so documents of a newer plugin can be read. A required field that is missing or null is an error.
  */
private[tell] final class JsonFields(node: JsonNode, path: String) {

  def pathOf(name: String): String = if (path.isEmpty) name else s"$path.$name"

  def text(name: String): Either[String, String] = required(name).flatMap(asText(name, _))

  def long(name: String): Either[String, Long] = required(name).flatMap(asLong(name, _))

  def int(name: String): Either[String, Int] = required(name).flatMap(asLong(name, _)).flatMap { value =>
    Either.cond(value.isValidInt, value.toInt, s"${pathOf(name)}: $value does not fit 32 bits")
  }

  def double(name: String): Either[String, Double] = required(name).flatMap(asDouble(name, _))

  def boolean(name: String): Either[String, Boolean] = required(name).flatMap(asBoolean(name, _))

  def optionalText(name: String): Either[String, Option[String]] = optional(name)(asText(name, _))

  def optionalLong(name: String): Either[String, Option[Long]] = optional(name)(asLong(name, _))

  def optionalBoolean(name: String): Either[String, Option[Boolean]] = optional(name)(asBoolean(name, _))

  def optionalDouble(name: String): Either[String, Option[Double]] = optional(name)(asDouble(name, _))

  /** A name from a closed list. */
  def named[A](name: String, find: String => Option[A]): Either[String, A] =
    text(name).flatMap(value => find(value).toRight(s"${pathOf(name)}: unknown name '$value'"))

  def optionalNamed[A](name: String, find: String => Option[A]): Either[String, Option[A]] =
    optional(name)(asText(name, _).flatMap(value => find(value).toRight(s"${pathOf(name)}: unknown name '$value'")))

  def inner[A](name: String)(read: JsonFields => Either[String, A]): Either[String, A] = required(name).flatMap(innerOf(name, _)(read))

  def optionalInner[A](name: String)(read: JsonFields => Either[String, A]): Either[String, Option[A]] =
    optional(name)(innerOf(name, _)(read))

  def texts(name: String): Either[String, Seq[String]] = elements(name)((where, element) => asText(where, element))

  def inners[A](name: String)(read: JsonFields => Either[String, A]): Either[String, Seq[A]] =
    elements(name)((where, element) => innerOf(where, element)(read))

  /** No elements where the field is missing. */
  def optionalInners[A](name: String)(read: JsonFields => Either[String, A]): Either[String, Seq[A]] =
    if (node.hasNonNull(name)) inners(name)(read) else Right(Nil)

  private def elements[A](name: String)(read: (String, JsonNode) => Either[String, A]): Either[String, Seq[A]] =
    required(name).flatMap {
      case array: ArrayNode =>
        val parts = array.elements.asScala.toSeq.zipWithIndex.map { case (element, index) => read(s"$name[$index]", element) }
        parts.collectFirst { case Left(error) => error }.toLeft(parts.collect { case Right(value) => value })
      case other => Left(wrong(name, "a list", other))
    }

  private def innerOf[A](name: String, value: JsonNode)(read: JsonFields => Either[String, A]): Either[String, A] =
    if (value.isObject) read(new JsonFields(value, pathOf(name))) else Left(wrong(name, "an object", value))

  private def required(name: String): Either[String, JsonNode] =
    Option(node.get(name)).filterNot(_.isNull).toRight(s"${pathOf(name)}: missing")

  private def optional[A](name: String)(read: JsonNode => Either[String, A]): Either[String, Option[A]] =
    Option(node.get(name)).filterNot(_.isNull).fold[Either[String, Option[A]]](Right(None))(read(_).map(Some(_)))

  private def asText(name: String, value: JsonNode): Either[String, String] =
    Either.cond(value.isTextual, value.textValue, wrong(name, "a text", value))

  private def asLong(name: String, value: JsonNode): Either[String, Long] =
    Either.cond(value.isIntegralNumber && value.canConvertToLong, value.longValue, wrong(name, "a whole number of 64 bits", value))

  private def asDouble(name: String, value: JsonNode): Either[String, Double] =
    Either.cond(value.isNumber, value.doubleValue, wrong(name, "a number", value))

  private def asBoolean(name: String, value: JsonNode): Either[String, Boolean] =
    Either.cond(value.isBoolean, value.booleanValue, wrong(name, "true or false", value))

  private def wrong(name: String, expected: String, value: JsonNode): String = s"${pathOf(name)}: expected $expected, got $value"
}

private[tell] object JsonFields {
  private val Mapper = new ObjectMapper()

  def emptyObject: ObjectNode = Mapper.createObjectNode()

  /** The object in `text`. */
  def parse(text: String): Either[String, ObjectNode] =
    Try(Option(Mapper.readTree(text))).toEither.left
      .map(error => s"not JSON: ${firstLine(error)}")
      .flatMap {
        case Some(node: ObjectNode) => Right(node)
        case _                      => Left("not a JSON object")
      }

  def render(node: JsonNode): String = Mapper.writeValueAsString(node)

  private def firstLine(error: Throwable): String = Option(error.getMessage).flatMap(_.linesIterator.nextOption()).getOrElse(error.toString)
}
