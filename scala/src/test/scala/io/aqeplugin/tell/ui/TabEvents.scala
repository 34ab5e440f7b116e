package io.aqeplugin.tell.ui

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.ObjectMapper

import io.aqeplugin.decide._
import io.aqeplugin.docs.DecisionDocs
import io.aqeplugin.limit.{LimitChoice, LimitDecision, LimitFacts, LimitOperator}
import io.aqeplugin.tell._

/** Events as the plugin writes them, for the tests of the tab. */
object TabEvents {
  private val mapper = new ObjectMapper()

  val Key: String = "ss_item_sk = sr_item_sk"

  /** A join whose sides differ so much in size that a filter pays. */
  val Facts: JoinFacts = DecisionDocs.ExampleJoin

  val Decision: JoinDecision = DecideJoin.decide(Facts, Thresholds.Default)

  def array(text: String): JsonNode = mapper.readTree(text)

  def decided(
      executionId: Long,
      decision: JoinDecision = Decision,
      schemaVersion: Int = 1,
      filters: String = "[]",
      arm: Option[String] = None
  ): JoinDecided =
    JoinDecided(schemaVersion, executionId, 1000 + executionId, "apply", DecisionJson.write(decision), array(filters), arm)

  def placed(table: String = "store_sales", applied: Boolean = true): String =
    s"""{"filterId":"f1","joinId":"${Decision.facts.joinId}","table":${quoted(table)},"scanColumns":["ss_item_sk"],"applied":$applied,
       |"reason":{"code":"FILTER_PAYS","measured":12.0,"limit":50.0,"unit":"millis","confKey":""}}""".stripMargin

  def outcome(
      table: String = "store_sales",
      kind: String = "exact",
      reason: String = "null",
      rowsIn: Long = 1000,
      rowsOut: Long = 10
  ): String =
    s"""{"filterId":"f1","joinId":"${Decision.facts.joinId}","table":${quoted(table)},"scanColumns":["ss_item_sk"],"kind":"$kind",
       |"reason":$reason,"rowsIn":$rowsIn,"rowsOut":$rowsOut,"rowsUnchecked":3,"filterBytes":2048,"buildMillis":17,"waitMillis":40,"keys":5}""".stripMargin

  /** A limit of 100 rows, held by 2 of 40 files. */
  val Limit: LimitDecision = LimitDecision(
    LimitFacts(LimitOperator.Collect, "store_sales", 100, files = 40, bytes = 1L << 20, footers = 2, footerMillis = 3),
    LimitChoice.FewestFiles,
    Reason(ReasonCode.EnoughRows, Some(120), Some(100), "rows"),
    filesChosen = 2,
    rowsProven = 120
  )

  def limited(
      executionId: Long,
      limit: LimitDecision = Limit,
      applied: Boolean = true,
      schemaVersion: Int = 1,
      outcome: String = """{"filesListed":40,"rowsRead":110,"splits":2}""",
      mode: String = "apply"
  ): LimitDecided =
    LimitDecided(schemaVersion, executionId, 1500 + executionId, mode, applied, EventSchema.Limit.write(limit), array(outcome))

  def inferred(
      executionId: Long,
      predicate: String = "(day <= 17)",
      table: String = "store_sales",
      applied: Boolean = true,
      schemaVersion: Int = 1
  ): PredicateInferred = {
    val mode = if (applied) "apply" else "observe"
    PredicateInferred(schemaVersion, executionId, 500 + executionId, mode, table, predicate, "INEQUALITY", applied)
  }

  def ended(
      executionId: Long,
      outcomes: Seq[String] = Seq(outcome()),
      errors: Long = 0,
      schemaVersion: Int = 1,
      savings: Seq[JoinSaving] = Nil
  ): QueryEnded =
    QueryEnded(
      schemaVersion,
      executionId,
      2000 + executionId,
      900,
      8,
      outcomes.size,
      outcomes.size,
      errors,
      array(outcomes.mkString("[", ",", "]")),
      savings = Json.array(savings.map(EventSchema.Saving.write))
    )

  private def quoted(text: String): String = mapper.writeValueAsString(text)
}
