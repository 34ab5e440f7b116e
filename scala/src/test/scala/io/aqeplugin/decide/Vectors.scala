package io.aqeplugin.decide

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.aqeplugin.tell.Json

/** The files of `tests/vectors/`, whose README says what a vector is. */
object Vectors {
  private val Root = Paths.get("tests", "vectors")

  /** Of decisions. */
  def ofDecisions: Seq[Path] = jsonFiles(Root)

  /** Of waits. */
  def ofWaits: Seq[Path] = jsonFiles(Root.resolve("wait"))

  def parse(file: Path): ObjectNode =
    Json.parseObject(new String(Files.readAllBytes(file), UTF_8)).fold(error => throw new IllegalArgumentException(error), identity)

  /** `base` with the merge patch `patch` applied, as RFC 7396 says. */
  def patched(base: JsonNode, patch: JsonNode): ObjectNode = applied(base.deepCopy[ObjectNode](), patch)

  private def applied(target: ObjectNode, patch: JsonNode): ObjectNode = {
    patch.fieldNames.asScala.foreach { name =>
      (patch.get(name), Option(target.get(name))) match {
        case (inner: ObjectNode, Some(old: ObjectNode)) => target.set[JsonNode](name, applied(old, inner))
        case (inner, _) if inner.isNull                 => target.remove(name)
        case (inner, _)                                 => target.set[JsonNode](name, inner)
      }
    }
    target
  }

  private def jsonFiles(folder: Path): Seq[Path] =
    Using.resource(Files.newDirectoryStream(folder, "*.json"))(_.asScala.toSeq.sortBy(_.toString))
}
