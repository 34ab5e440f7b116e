package io.aqeplugin.tell

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ArrayNode

import io.aqeplugin.conf.{Named, Names}
import io.aqeplugin.tell.Json.Nodes

/** How values of one Scala type are written as JSON and read from it. An error of reading has the form `<path>: <problem>`.
  *
  * @param name
  *   as in [[FieldSchema]]
  * @param values
  *   the texts that it may be, if these are a closed list
  */
private[tell] sealed abstract class Kind(val name: String, val values: Seq[String] = Nil) {

  /** The schemas of the objects in it. */
  def objects: Seq[ObjectSchema] = Nil

  def write(value: Any): JsonNode

  def read(node: JsonNode, path: String): Either[String, Any]
}

private[tell] object Kind {

  private final class Plain(name: String, expected: String, is: JsonNode => Boolean, of: JsonNode => Any, to: Any => JsonNode)
      extends Kind(name) {
    def write(value: Any): JsonNode = to(value)
    def read(node: JsonNode, path: String): Either[String, Any] = Either.cond(is(node), of(node), wrong(path, expected, node))
  }

  val Text: Kind = new Plain("text", "a text", _.isTextual, _.textValue, value => Nodes.textNode(value.toString))
  val Flag: Kind =
    new Plain("boolean", "true or false", _.isBoolean, _.booleanValue, value => Nodes.booleanNode(value.asInstanceOf[Boolean]))
  val Number: Kind = new Plain("number", "a number", _.isNumber, _.doubleValue, value => Nodes.numberNode(value.asInstanceOf[Double]))
  val Whole: Kind = new Plain(
    "integer",
    "a whole number of 64 bits",
    node => node.isIntegralNumber && node.canConvertToLong,
    _.longValue,
    value => Nodes.numberNode(value.asInstanceOf[Long])
  )

  /** A whole number of 32 bits. */
  case object Whole32 extends Kind("integer") {
    def write(value: Any): JsonNode = Nodes.numberNode(value.asInstanceOf[Int])
    def read(node: JsonNode, path: String): Either[String, Any] = Whole.read(node, path).flatMap { value =>
      Either.cond(node.canConvertToInt, node.intValue, s"$path: $value does not fit 32 bits")
    }
  }

  final class OfNames(names: Names[_ <: Named]) extends Kind("text", names.All.map(_.name)) {
    def write(value: Any): JsonNode = Nodes.textNode(value.asInstanceOf[Named].name)
    def read(node: JsonNode, path: String): Either[String, Any] =
      Text.read(node, path).flatMap(text => names.fromName(text.toString).toRight(s"$path: unknown name '$text'"))
  }

  final class OfObject(form: Form[_]) extends Kind(form.schema.name) {
    override def objects: Seq[ObjectSchema] = form.objects
    def write(value: Any): JsonNode = form.asInstanceOf[Form[Any]].write(value)
    def read(node: JsonNode, path: String): Either[String, Any] = form.read(node, path)
  }

  final class ListOf(element: Kind) extends Kind(s"${element.name}[]", element.values) {
    override def objects: Seq[ObjectSchema] = element.objects
    def write(value: Any): JsonNode = Json.array(value.asInstanceOf[Seq[_]].map(element.write))
    def read(node: JsonNode, path: String): Either[String, Any] = node match {
      case array: ArrayNode => Form.all(0 until array.size)(i => element.read(array.get(i), s"$path[$i]"))
      case other            => Left(wrong(path, "a list", other))
    }
  }

  /** A tree of JSON, or names as texts: told of in a schema, written by Spark. */
  final class Raw(name: String, values: Seq[String]) extends Kind(name, values) {
    def write(value: Any): JsonNode = value match {
      case node: JsonNode => node
      case text           => Nodes.textNode(text.toString)
    }
    def read(node: JsonNode, path: String): Either[String, Any] = Right(node)
  }

  private def wrong(path: String, expected: String, node: JsonNode): String = s"$path: expected $expected, got $node"
}
