package io.aqeplugin.tell

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide._

/** Runs the vectors of waits against [[WaitPrice]], and looks whether all vectors together move every threshold that a decision is held against. */
class WaitVectorSuite extends AnyFunSuite {
  import WaitVectorSuite._

  Vectors.ofWaits.foreach { file =>
    val root = Vectors.parse(file)
    root.get("vectors").asScala.foreach { vector =>
      test(s"${file.getFileName}: ${vector.get("name").textValue}") {
        val thresholds = ThresholdsJson.read(Vectors.patched(root.get("thresholds"), vector.get("thresholds"))).fold(fail(_), identity)
        val decision = WaitPrice.decide(waitFacts(Vectors.patched(root.get("facts"), vector.get("facts"))), thresholds)
        val expected = vector.get("expect")
        assert(decision.waits == expected.get("waits").booleanValue, decision)
        assert(decision.reason.code.name == expected.get("reason").textValue)
        assert(math.abs(decision.savingMillis - expected.get("savingMillis").doubleValue) < 1e-9)
        assert(math.abs(decision.idleMillis - expected.get("idleMillis").doubleValue) < 1e-9)
      }
    }
  }

  test("every threshold of a decision is changed by a vector") {
    val moved = (Vectors.ofDecisions ++ Vectors.ofWaits).map(Vectors.parse).flatMap { root =>
      (Option(root.get("thresholds")) ++ root.get("vectors").asScala.map(_.get("thresholds"))).flatMap(_.fieldNames.asScala)
    }.toSet
    assert(AqeConf.ThresholdKeys.map(_.shortKey).filterNot(moved).toSet == NotOfDecisions)
  }
}

object WaitVectorSuite {

  /** What holds while a join is estimated, and while a filter is placed, built, pushed or checked. */
  private val NotOfDecisions = Set(
    "memory.maxShare",
    "wait.checkAfter",
    "wait.keptPerPredicate",
    "wait.limit",
    "sketch.maxKeys",
    "sample.minRows",
    "filter.inListMaxKeys",
    "filter.buildTimeout",
    "filter.slotTimeout",
    "filter.maxPerScan",
    "filter.selfDisable.sampleBatches",
    "filter.selfDisable.maxPassRate",
    "filter.selfDisable.skipBatches"
  ) ++ AqeConf.ThresholdKeys.map(_.shortKey).filter(_.startsWith("limit.")) // decides limits, no joins

  private def waitFacts(node: ObjectNode): WaitFacts = WaitFacts(
    DecisionJson.Facts.read(node.withObject("/join")).fold(error => throw new IllegalArgumentException(error), identity),
    buildScanBytes = node.get("buildScanBytes").longValue,
    buildTasks = node.get("buildTasks").intValue,
    shufflePartitions = node.get("shufflePartitions").intValue,
    otherRunnableTasks = node.get("otherRunnableTasks").intValue
  )
}
