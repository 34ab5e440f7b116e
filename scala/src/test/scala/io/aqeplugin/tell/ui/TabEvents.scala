package io.aqeplugin.tell.ui

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.ObjectMapper

import io.aqeplugin.decide._
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
       |"reason":$reason,"rowsIn":$rowsIn,"rowsOut":$rowsOut,"batchesSkipped":3,"filterBytes":2048,"buildMillis":17,"waitMillis":40,"keys":5}""".stripMargin

  def ended(
      executionId: Long,
      outcomes: Seq[String] = Seq(outcome()),
      errors: Long = 0,
      schemaVersion: Int = 1
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
      array(outcomes.mkString("[", ",", "]"))
    )

  private def quoted(text: String): String = mapper.writeValueAsString(text)
}
