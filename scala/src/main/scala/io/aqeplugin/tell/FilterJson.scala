package io.aqeplugin.tell

import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory, ObjectNode}

import io.aqeplugin.observe.{FilterOutcome, PlacedFilter}

/** The JSON form of filters, in events and in `aqe_decisions()`: their placements and outcomes. */
private[tell] object FilterJson {
  private val nodes = JsonNodeFactory.instance

  def writePlaced(filters: Seq[PlacedFilter]): ArrayNode = array(filters) { (filter, node) =>
    node.put("filterId", filter.filterId).put("joinId", filter.joinId).put("table", filter.table)
    node.set[ArrayNode]("scanColumns", strings(filter.scanColumns))
    node.put("applied", filter.applied)
    node.set[ObjectNode]("reason", ReasonJson.write(filter.reason))
  }

  def writeOutcomes(outcomes: Seq[FilterOutcome]): ArrayNode = array(outcomes) { (outcome, node) =>
    node.put("filterId", outcome.filterId).put("joinId", outcome.joinId).put("table", outcome.table)
    node.set[ArrayNode]("scanColumns", strings(outcome.scanColumns))
    node.put("kind", outcome.kind)
    node.set[ObjectNode]("reason", outcome.reason.map(reason => ReasonJson.write(reason)).orNull)
    node
      .put("rowsIn", outcome.rowsIn)
      .put("rowsOut", outcome.rowsOut)
      .put("rowsUnchecked", outcome.rowsUnchecked)
      .put("filterBytes", outcome.filterBytes)
      .put("buildMillis", outcome.buildMillis)
      .put("waitMillis", outcome.waitMillis)
      .put("keys", outcome.keys)
    if (outcome.anyOf.isEmpty) node else node.put("anyOf", outcome.anyOf)
  }

  def readPlaced(fields: JsonFields): Either[String, PlacedFilter] = for {
    filterId <- fields.text("filterId")
    joinId <- fields.text("joinId")
    table <- fields.text("table")
    scanColumns <- fields.texts("scanColumns")
    applied <- fields.boolean("applied")
    reason <- fields.inner("reason")(ReasonJson.read)
  } yield PlacedFilter(filterId, joinId, table, scanColumns, applied, reason)

  def readOutcome(fields: JsonFields): Either[String, FilterOutcome] = for {
    filterId <- fields.text("filterId")
    joinId <- fields.text("joinId")
    table <- fields.text("table")
    scanColumns <- fields.texts("scanColumns")
    kind <- fields.text("kind")
    reason <- fields.optionalInner("reason")(ReasonJson.read)
    rowsIn <- fields.long("rowsIn")
    rowsOut <- fields.long("rowsOut")
    rowsUnchecked <- fields.long("rowsUnchecked")
    filterBytes <- fields.long("filterBytes")
    buildMillis <- fields.long("buildMillis")
    waitMillis <- fields.long("waitMillis")
    keys <- fields.long("keys")
    anyOf <- fields.optionalText("anyOf")
  } yield FilterOutcome(
    filterId,
    joinId,
    table,
    scanColumns,
    found = kind != FilterOutcome.Missing,
    kind,
    reason,
    rowsIn,
    rowsOut,
    rowsUnchecked,
    filterBytes,
    buildMillis,
    waitMillis,
    keys,
    anyOf.getOrElse("")
  )

  private def array[A](values: Seq[A])(write: (A, ObjectNode) => ObjectNode): ArrayNode =
    values.foldLeft(nodes.arrayNode())((array, value) => array.add(write(value, nodes.objectNode())))

  private def strings(values: Seq[String]): ArrayNode = values.foldLeft(nodes.arrayNode())((array, value) => array.add(value))
}
