package io.aqeplugin.tell

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide._
import io.aqeplugin.limit.{LimitChoice, LimitDecision, LimitFacts, LimitOperator, LimitOutcome}
import io.aqeplugin.observe.{FilterOutcome, PlacedFilter}

class DecisionJsonSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private def reparsed(node: ObjectNode): ObjectNode = Json.parseObject(Json.render(node)).fold(fail(_), identity)

  private def assertReadBack[A](form: Form[A], value: A): Assertion = assert(form.read(reparsed(form.write(value))) == Right(value))

  private val waits = Form.of[WaitDecision]
  private val reasons = Form.of[Reason]

  private val complete: JoinDecision = {
    val keys =
      KeyFacts(
        1,
        supported = true,
        Some(10),
        Some(1),
        Some(-5),
        Some(5),
        Seq(KeyBucket(-5, 5, 10)),
        Some(20),
        kept = true,
        asRange = true,
        byRow = true,
        hashed = true,
        computed = 1
      )
    val typical = FactsGen.Typical
    val facts = typical.copy(
      build = typical.build.copy(keys = keys),
      probe = typical.probe.copy(keys = Some(keys)),
      hint = Some("merge"),
      filterObstacle = Some(ReasonCode.ReusedExchange)
    )
    val reason = Reason(ReasonCode.Hint)
    DecideJoin.decide(facts, Thresholds.Default).copy(unforced = Some(Unforced(Strategy.Broadcast, reason, true, reason)))
  }

  test("a decision is read back unchanged") {
    forAll(FactsGen.joinFacts, FactsGen.thresholds) { (facts, thresholds) =>
      val decision = DecideJoin.decide(facts, thresholds)
      assert(DecisionJson.read(reparsed(DecisionJson.write(decision))) == Right(decision))
    }
  }

  test("facts, reasons and waits are read back unchanged") {
    forAll(FactsGen.joinFacts, FactsGen.waitFacts) { (facts, waitFacts) =>
      assertReadBack(DecisionJson.Facts, facts)
      val wait = WaitPrice.decide(waitFacts, Thresholds.Default)
      WaitEnd.All.map(end => Some(WaitOutcome(end, 1.5))).appended(None).foreach(end => assertReadBack(waits, wait.copy(outcome = end)))
      assertReadBack(reasons, wait.reason)
    }
  }

  test("limits and their outcomes are read back unchanged, and follow the event schema") {
    val facts = LimitFacts(LimitOperator.Inner, "t", 10, files = 4, bytes = 5, footers = 2, footerMillis = 7)
    val reason = Reason(ReasonCode.AllFilesNeeded, Some(4), Some(4), "files")
    val decisions = LimitChoice.All.map(choice => LimitDecision(facts, choice, reason, filesChosen = 3, rowsProven = 12))
    decisions.foreach { decision =>
      follow(EventSchema.Limit.write(decision), "LimitDecision", "decision")
      assertReadBack(EventSchema.Limit, decision)
    }
    Seq(LimitOutcome(4, 10, Some(2)), LimitOutcome(4, 10, None)).foreach { outcome =>
      follow(EventSchema.LimitRead.write(outcome), "LimitOutcome", "outcome")
      assertReadBack(EventSchema.LimitRead, outcome)
    }
  }

  test("thresholds accept full and short keys, and values in conf syntax") {
    val read = Json
      .parseObject(
        """{"spark.aqePlugin.filter.maxPassRate": "0.5", "broadcast.maxMemoryBytes": "64m", "cost.jobLaunchNanos": 1e9, "filter.minProbeRows": 1e3}"""
      )
      .flatMap(ThresholdsJson.read)
    val expected = Thresholds.Default
      .updated(AqeConf.FilterMaxPassRate, 0.5)
      .updated(AqeConf.FilterMinProbeRows, 1000L)
      .updated(AqeConf.BroadcastMaxMemoryBytes, 64L << 20)
      .updated(AqeConf.CostJobLaunchNanos, 1e9)
    assert(read == Right(expected))
    assert(Json.parseObject("{}").flatMap(ThresholdsJson.read) == Right(Thresholds.Default))
  }

  test("the error of a threshold out of range names its key") {
    val read = Json.parseObject("""{"filter.maxPassRate": 2}""").flatMap(ThresholdsJson.read)
    assert(read == Left("Bad value for spark.aqePlugin.filter.maxPassRate: '2'. Allowed: 0 to 1."))
  }

  test("a choice whose name contradicts its filter flag is an error") {
    val node = DecisionJson.write(complete.copy(choice = Strategy.FilteredSortMerge, buildFilter = true)).put("buildFilter", false)
    assert(DecisionJson.read(node) == Left("choice: filtered_sort_merge without a filter is no option"))
  }

  test("an unknown field is skipped") {
    val node = DecisionJson.write(complete).put("later", 1)
    node.withObject("/facts").put("later", "x")
    assert(DecisionJson.read(node) == Right(complete))
  }

  test("the error of a missing or wrong field names its path") {
    def broken(change: ObjectNode => Any): Either[String, JoinDecision] = {
      val node = DecisionJson.write(complete)
      change(node)
      DecisionJson.read(node)
    }
    assert(broken(_.withObject("/facts/build").remove("rows")) == Left("facts.build.rows: missing"))
    assert(broken(_.withObject("/facts/build").putNull("rows")) == Left("facts.build.rows: missing"))
    assert(broken(_.withObject("/facts").put("kind", "outer")) == Left("facts.kind: unknown name 'outer'"))
    assert(broken(_.put("passRate", "low")) == Left("passRate: expected a number, got \"low\""))
    assert(broken(_.put("facts", 7)) == Left("facts: expected an object, got 7"))
    assert(broken(_.withObject("/facts/probe").put(
      "exchanges",
      1L << 40
    )) == Left("facts.probe.exchanges: 1099511627776 does not fit 32 bits"))
    assert(broken(_.put("schemaVersion", 2)) == Left("schemaVersion: 2 is not the version that this plugin reads, 1"))
    assert(broken(_.withArray("/options").get(1).asInstanceOf[ObjectNode].remove("reason")) == Left("options[1].reason: missing"))
  }

  test("text that is not a JSON object gives an error of one line") {
    Seq("", "[]", "7", "null", "{", "{\"a\":}").foreach { text =>
      val error = Json.parseObject(text)
      assert(error.left.exists(_.linesIterator.size == 1), text)
    }
  }

  private val objects = EventSchema.Objects.map(schema => schema.name -> schema).toMap

  private def follow(node: JsonNode, name: String, path: String): Unit = {
    val schema = objects(name)
    val names = node.fieldNames.asScala.toSet
    assert(names.subsetOf(schema.fields.map(_.name).toSet), path)
    // A step of a path has the fields of its own kind.
    assert(name == "PathStep" || names.size == schema.fields.size, path)
    schema.fields.filter(field => field.required || names(field.name)).foreach(field =>
      followField(node.get(field.name), field, s"$path.${field.name}")
    )
  }

  private def followField(value: JsonNode, field: FieldSchema, path: String): Unit = {
    assert(!value.isNull || !field.required, path)
    val elements = if (field.kind.endsWith("[]")) value.asScala.toSeq else Seq(value).filterNot(_.isNull)
    elements.foreach { element =>
      field.kind.stripSuffix("[]") match {
        case "text"    => assert(element.isTextual && (field.values.isEmpty || field.values.contains(element.textValue)), path)
        case "integer" => assert(element.isIntegralNumber, path)
        case "number"  => assert(element.isNumber, path)
        case "boolean" => assert(element.isBoolean, path)
        case other     => follow(element, other, path)
      }
    }
  }

  test("documents have exactly the fields and types of the event schema") {
    follow(DecisionJson.write(complete), "JoinDecision", "decision")
    forAll(FactsGen.joinFacts, FactsGen.thresholds) { (facts, thresholds) =>
      follow(reparsed(DecisionJson.write(DecideJoin.decide(facts, thresholds))), "JoinDecision", "decision")
    }
    follow(waits.write(WaitDecision(waits = true, Reason(ReasonCode.WaitPays), 1, 2)), "WaitDecision", "wait")
  }

  test("a placed filter, an outcome and a flip point are read back unchanged, and follow the event schema") {
    val reason = Reason(ReasonCode.FilterPays, Some(0.5), Some(0.9), "ratio", "key")
    val placed = PlacedFilter("f", "j", "t", Seq("c"), applied = true, reason)
    val outcome =
      FilterOutcome("f", "j", "t", Seq("c"), "exact", Some(reason), 1, 2, 3, 4, 5, 6, 7, "g", Some(8), Some(9), Some(reason), Some(10))
    val flip = JoinFlip("j", FlipInput.All.head, "rows", 1, 2, Strategy.Broadcast, withFilter = true)
    follow(EventSchema.Placed.write(placed), "FilterPlanned", "filter")
    follow(EventSchema.Outcome.write(outcome), "FilterOutcome", "outcome")
    follow(EventSchema.Flip.write(flip), "FlipPoint", "flip")
    assertReadBack(EventSchema.Placed, placed)
    Seq(
      outcome,
      outcome.copy(reason = None, anyOf = "", filesLeftOut = None, bytesLeftOut = None, filesKept = None, filesListed = None)
    ).foreach(assertReadBack(EventSchema.Outcome, _))
    assertReadBack(EventSchema.Flip, flip)
  }

  test("the schema has every object that a field refers to") {
    val kinds = EventSchema.Objects.flatMap(_.fields).map(_.kind.stripSuffix("[]")).toSet
    assert(kinds.removedAll(Seq("text", "integer", "number", "boolean")).subsetOf(objects.keySet))
    assert(Seq("JoinDecided", "QueryEnded", "LimitDecided", "PredicateInferred").toSet.subsetOf(objects.keySet))
  }
}
