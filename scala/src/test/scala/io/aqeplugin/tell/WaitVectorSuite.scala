package io.aqeplugin.tell

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide._

/** Runs `tests/vectors/wait/` against [[WaitPrice]], and looks whether `tests/vectors/` moves every threshold that a decision is held against. */
class WaitVectorSuite extends AnyFunSuite {
  import WaitVectorSuite._

  private val files: Seq[Path] = jsonFiles(Folder.resolve("wait"))

  files.foreach { file =>
    val root = parse(file)
    root.get("vectors").asScala.foreach { vector =>
      test(s"${file.getFileName}: ${vector.get("name").textValue}") {
        val thresholds =
          ThresholdsJson.read(merged(root.get("thresholds"), vector.get("thresholds")), strict = true).fold(fail(_), identity)
        val decision = WaitPrice.decide(waitFacts(merged(root.get("facts"), vector.get("facts"))), thresholds)
        val expected = vector.get("expect")
        assert(decision.waits == expected.get("waits").booleanValue, decision)
        assert(decision.reason.code.name == expected.get("reason").textValue)
        assert(math.abs(decision.savingMillis - expected.get("savingMillis").doubleValue) < 1e-9)
        assert(math.abs(decision.idleMillis - expected.get("idleMillis").doubleValue) < 1e-9)
      }
    }
  }

  test("every threshold that a decision is held against is moved by a vector") {
    val moved = (jsonFiles(Folder) ++ files).map(parse).flatMap { root =>
      (Option(root.get("thresholds")) ++ root.get("vectors").asScala.map(_.get("thresholds"))).flatMap(_.fieldNames.asScala)
    }.toSet
    assert(AqeConf.ThresholdKeys.map(_.shortKey).filterNot(moved).toSet == NotOfDecisions)
  }
}

object WaitVectorSuite {
  private val Folder = Paths.get("tests", "vectors")

  /** What holds while a filter is placed, built, pushed or checked. */
  private val NotOfDecisions = Set(
    "filter.inListMaxKeys",
    "filter.buildTimeout",
    "filter.maxPerScan",
    "filter.selfDisable.sampleBatches",
    "filter.selfDisable.maxPassRate",
    "filter.selfDisable.skipBatches"
  )

  private def jsonFiles(folder: Path): Seq[Path] =
    Using.resource(Files.newDirectoryStream(folder, "*.json"))(_.asScala.toSeq.sortBy(_.toString))

  private def parse(file: Path): ObjectNode =
    DecisionJson.parse(new String(Files.readAllBytes(file), UTF_8)).fold(error => throw new IllegalArgumentException(error), identity)

  /** The fields of `base`, those of `patch` in place of them. */
  private def merged(base: JsonNode, patch: JsonNode): ObjectNode =
    base.deepCopy[ObjectNode]().setAll[ObjectNode](patch.asInstanceOf[ObjectNode])

  private def waitFacts(node: ObjectNode): WaitFacts = {
    val probe = node.get("probe")
    val cluster = node.get("cluster")
    WaitFacts(
      kind = named(JoinKind.All)(_.name, node.get("kind")),
      buildSide = named(Seq(Side.Left, Side.Right))(_.name, node.get("buildSide")),
      keyColumns = node.get("keyColumns").intValue,
      keysSupported = node.get("keysSupported").booleanValue,
      buildRows = node.get("buildRows").longValue,
      buildScanBytes = node.get("buildScanBytes").longValue,
      buildRowBytes = node.get("buildRowBytes").longValue,
      buildTasks = node.get("buildTasks").intValue,
      buildKeptRatio = Option(node.get("buildKeptRatio")).filterNot(_.isNull).map(_.doubleValue),
      buildPredicates = node.get("buildPredicates").intValue,
      shufflePartitions = node.get("shufflePartitions").intValue,
      otherRunnableTasks = node.get("otherRunnableTasks").intValue,
      waitsAnyway = node.get("waitsAnyway").booleanValue,
      probe = ProbeFacts(
        rows = probe.get("rows").longValue,
        scanRows = probe.get("scanRows").longValue,
        rowBytes = probe.get("rowBytes").longValue,
        exchanges = probe.get("exchanges").intValue,
        started = probe.get("started").booleanValue,
        targets = probe.get("targets").intValue,
        keys = None
      ),
      cluster = ClusterFacts(cluster.get("slots").intValue, cluster.get("executors").intValue),
      hint = Option(node.get("hint")).filterNot(_.isNull).map(_.textValue),
      sparkStrategy = named(Strategy.All)(_.name, node.get("sparkStrategy")),
      canBroadcast = node.get("canBroadcast").booleanValue,
      filterObstacle = Option(node.get("filterObstacle")).filterNot(_.isNull).map(named(ReasonCode.All)(_.name, _)),
      buildUnmeasuredColumns = Option(node.get("buildUnmeasuredColumns")).fold(0)(_.intValue)
    )
  }

  private def named[A](all: Seq[A])(name: A => String, node: JsonNode): A =
    all.find(name(_) == node.textValue).getOrElse(throw new IllegalArgumentException(s"no such value: $node"))
}
