package io.aqeplugin.decide

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.tell.{AqeDecideFunction, DecisionJson}

/** Runs `tests/vectors/`, whose README says what a vector is, through the function that also answers Python. */
class VectorSuite extends AnyFunSuite {

  private def parse(text: String): ObjectNode = DecisionJson.parse(text).fold(fail(_), identity)

  /** RFC 7396. */
  private def patched(target: ObjectNode, patch: ObjectNode): ObjectNode = {
    patch.fieldNames.asScala.foreach { name =>
      (patch.get(name), Option(target.get(name))) match {
        case (inner: ObjectNode, Some(old: ObjectNode)) => target.set[JsonNode](name, patched(old, inner))
        case (inner, _) if inner.isNull                 => target.remove(name)
        case (inner, _)                                 => target.set[JsonNode](name, inner)
      }
    }
    target
  }

  private def decide(base: ObjectNode, vector: JsonNode): JoinDecision = {
    val facts = patched(base.deepCopy(), vector.get("facts").asInstanceOf[ObjectNode])
    AqeDecideFunction
      .decide(DecisionJson.render(facts), vector.get("thresholds").toString)
      .flatMap(DecisionJson.parse)
      .flatMap(DecisionJson.read)
      .fold(fail(_), identity)
  }

  private def outcome(decision: JoinDecision): ObjectNode = {
    val node = parse("{}")
    node.put("choice", decision.choice.name).put("reason", decision.reason.code.name)
    node.put("buildFilter", decision.buildFilter).put("filterReason", decision.filterReason.code.name)
    val options = node.putObject("options")
    decision.options.foreach { weighed =>
      val option = weighed.option
      val suffix = if (option == JoinOption.FilteredBroadcast) "_with_filter" else ""
      options.put(option.strategy.name + suffix, weighed.reason.code.name)
    }
    node
  }

  private val files: Seq[Path] = {
    val listing = Files.newDirectoryStream(Paths.get("tests", "vectors"), "*.json")
    try listing.asScala.toSeq.sortBy(_.toString)
    finally listing.close()
  }

  files.foreach { file =>
    val root = parse(new String(Files.readAllBytes(file), UTF_8))
    val base = root.get("facts").asInstanceOf[ObjectNode]
    root.get("vectors").asScala.foreach { vector =>
      test(s"${file.getFileName}: ${vector.get("name").textValue}") {
        val decision = decide(base, vector)
        assert(outcome(decision) == vector.get("expect"))
        Option(vector.get("passRate")).foreach(expected => assert(math.abs(decision.passRate - expected.doubleValue) < 1e-9))
      }
    }
  }

  test("there are vectors") {
    assert(files.size >= 5)
  }
}
