package io.aqeplugin.tell

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{AnalysisException, SparkSession}
import org.apache.spark.sql.functions.expr
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.decide.{DecideJoin, FactsGen, FlipPoints, Strategy, Thresholds}
import io.aqeplugin.e2e.NeedsSession

class AqeDecideFunctionSuite extends AnyFunSuite with BeforeAndAfterAll with NeedsSession {

  private lazy val spark = SparkSession
    .builder()
    .master("local[1]")
    .config("spark.sql.shuffle.partitions", "1")
    .withExtensions(_.injectFunction(AqeDecideFunction.description))
    .getOrCreate()

  override protected def afterAll(): Unit = {
    spark.stop()
    SparkSession.clearActiveSession()
    SparkSession.clearDefaultSession()
  }

  private val facts = Json.render(DecisionJson.Facts.write(FactsGen.Typical))

  private def call(factsText: String, thresholdsText: String, flips: String = ""): Option[String] = {
    val session = spark
    import session.implicits._
    val answer =
      Seq((Option(factsText), Option(thresholdsText))).toDF("facts", "thresholds").select(expr(s"aqe_decide(facts, thresholds$flips)"))
    Option(answer.head().getString(0))
  }

  private def refusal(factsText: String, thresholdsText: String): String = {
    def root(error: Throwable): Throwable = Option(error.getCause).fold(error)(root)
    root(intercept[Exception](call(factsText, thresholdsText))).getMessage
  }

  test("aqe_decide makes the plugin's decision") {
    val decision = call(facts, "{}").flatMap(text => DecisionJson.parse(text).toOption)
    assert(decision.contains(DecideJoin.decide(FactsGen.Typical, Thresholds.Default)))
  }

  test("other thresholds give another decision") {
    val decision =
      call(facts, """{"broadcast.maxMemoryBytes": "1m"}""").flatMap(text => DecisionJson.parse(text).toOption)
    assert(decision.map(_.choice).contains(Strategy.ShuffledHash))
  }

  test("flip points come when they are asked for, those of the decision under these thresholds") {
    val thresholds = """{"broadcast.maxMemoryBytes": "1m"}"""
    def flips(asked: String): Option[Seq[String]] =
      call(facts, thresholds, asked).flatMap(text => Json.parseObject(text).toOption).flatMap(node => Option(node.get("flips")))
        .map(_.elements.asScala.map(_.get("fact").asText).toSeq)
    val limits = Json.parseObject(thresholds).flatMap(ThresholdsJson.read).fold(fail(_), identity)
    val expected = FlipPoints.of(DecideJoin.decide(FactsGen.Typical, limits), limits).map(_.input.name)
    assert(expected.nonEmpty)
    assert(flips(", true").contains(expected))
    assert(flips(", false").isEmpty && flips("").isEmpty)
  }

  test("a null argument gives null") {
    assert(call(null, "{}").isEmpty)
    assert(call(facts, null).isEmpty)
  }

  test("invalid facts are an error that names the field") {
    assert(refusal("""{"joinId": "j"}""", "{}").contains("aqe_decide: facts: kind: missing"))
    assert(refusal("nonsense", "{}").contains("aqe_decide: facts: not JSON"))
  }

  test("unknown or out-of-range thresholds are an error that names the key") {
    assert(refusal(
      facts,
      """{"filter.maxPassRate": 7}"""
    ).contains("Bad value for spark.aqePlugin.filter.maxPassRate: '7'. Allowed: 0 to 1."))
    assert(refusal(facts, """{"filter.maxPasRate": 0.5}""").contains("aqe_decide: thresholds: filter.maxPasRate: no such threshold"))
  }

  test("aqe_decide requires two or three arguments") {
    val error = intercept[AnalysisException](spark.sql("SELECT aqe_decide('{}')"))
    assert(error.getMessage.contains("`aqe_decide` requires 2 or 3 parameters but the actual number is 1"))
  }

  test("aqe_decide accepts literals") {
    val text = spark.sql(s"SELECT aqe_decide('$facts', '{}')").head().getString(0)
    assert(text.startsWith("""{"schemaVersion":1,"facts":{"joinId":"join-1""""))
  }
}
