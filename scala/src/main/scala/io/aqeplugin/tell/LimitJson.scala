package io.aqeplugin.tell

import com.fasterxml.jackson.databind.node.ObjectNode

import io.aqeplugin.decide.{LimitChoice, LimitDecision, LimitFacts, LimitOperator}
import io.aqeplugin.observe.LimitOutcome

/** The JSON form of a limit's decision and outcome; errors of reading are those of [[JsonFields]]. */
private[tell] object LimitJson {

  def write(decision: LimitDecision): ObjectNode = {
    val facts = decision.facts
    val node = JsonFields.emptyObject
    node
      .putObject("facts")
      .put("operator", facts.operator.name)
      .put("table", facts.table)
      .put("rowsWanted", facts.rowsWanted)
      .put("files", facts.files)
      .put("bytes", facts.bytes)
      .put("footers", facts.footers)
      .put("footerMillis", facts.footerMillis)
    node.put("choice", decision.choice.name)
    node.set[ObjectNode]("reason", ReasonJson.write(decision.reason))
    node.put("filesChosen", decision.filesChosen).put("rowsProven", decision.rowsProven)
  }

  def write(outcome: LimitOutcome): ObjectNode = {
    val node = JsonFields.emptyObject.put("filesListed", outcome.filesListed).put("rowsRead", outcome.rowsRead)
    outcome.splits.fold(node.putNull("splits"))(node.put("splits", _))
  }

  def readDecision(fields: JsonFields): Either[String, LimitDecision] = for {
    facts <- fields.inner("facts")(readFacts)
    choice <- fields.named("choice", LimitChoice.fromName)
    reason <- fields.inner("reason")(ReasonJson.read)
    filesChosen <- fields.int("filesChosen")
    rowsProven <- fields.long("rowsProven")
  } yield LimitDecision(facts, choice, reason, filesChosen, rowsProven)

  def readOutcome(fields: JsonFields): Either[String, LimitOutcome] = for {
    filesListed <- fields.long("filesListed")
    rowsRead <- fields.long("rowsRead")
    splits <- fields.optionalLong("splits")
  } yield LimitOutcome(filesListed, rowsRead, splits)

  private def readFacts(fields: JsonFields): Either[String, LimitFacts] = for {
    operator <- fields.named("operator", LimitOperator.fromName)
    table <- fields.text("table")
    rowsWanted <- fields.long("rowsWanted")
    files <- fields.int("files")
    bytes <- fields.long("bytes")
    footers <- fields.int("footers")
    footerMillis <- fields.long("footerMillis")
  } yield LimitFacts(operator, table, rowsWanted, files, bytes, footers, footerMillis)
}
