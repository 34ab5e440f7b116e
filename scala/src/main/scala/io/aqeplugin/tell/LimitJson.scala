package io.aqeplugin.tell

import com.fasterxml.jackson.databind.node.ObjectNode

import io.aqeplugin.decide.LimitDecision
import io.aqeplugin.observe.LimitOutcome

/** The JSON form of a limit's decision and outcome. */
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
}
