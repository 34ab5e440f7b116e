package io.aqeplugin.decide

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.tell.{AqeDecideFunction, DecisionJson, Json}

/** Runs the vectors of decisions through the function that also answers Python. */
class VectorSuite extends AnyFunSuite {

  private def decide(base: ObjectNode, vector: JsonNode): JoinDecision =
    AqeDecideFunction
      .decide(Json.render(Vectors.patched(base, vector.get("facts"))), vector.get("thresholds").toString)
      .flatMap(DecisionJson.parse)
      .fold(fail(_), identity)

  private def outcome(decision: JoinDecision): ObjectNode = {
    val node = JsonNodeFactory.instance.objectNode()
    node.put("choice", decision.choice.name).put("reason", decision.reason.code.name)
    node.put("buildFilter", decision.buildFilter).put("filterReason", decision.filterReason.code.name)
    val options = node.putObject("options")
    decision.options.foreach { weighed =>
      val option = weighed.option
      val suffix = if (option.withFilter && option.method != Method.SortMerge) "_with_filter" else ""
      options.put(option.strategy.name + suffix, weighed.reason.code.name)
    }
    node
  }

  private val files = Vectors.ofDecisions

  files.foreach { file =>
    val root = Vectors.parse(file)
    val base = root.get("facts").asInstanceOf[ObjectNode]
    root.get("vectors").asScala.foreach { vector =>
      test(s"${file.getFileName}: ${vector.get("name").textValue}") {
        val decision = decide(base, vector)
        assert(outcome(decision) == vector.get("expect"))
        Option(vector.get("passRate")).foreach(expected => assert(math.abs(decision.passRate - expected.doubleValue) < 1e-9))
      }
    }
  }

  test("the folder has vectors") {
    assert(files.size >= 5)
  }
}
