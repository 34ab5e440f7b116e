package io.aqeplugin.tell

import io.aqeplugin.observe.{FilterOutcome, PlacedFilter}

/** Reads the filters that [[DecisionLog]] writes: their placements and outcomes. */
private[tell] object FilterJson {

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
    batchesSkipped <- fields.long("batchesSkipped")
    filterBytes <- fields.long("filterBytes")
    buildMillis <- fields.long("buildMillis")
    waitMillis <- fields.long("waitMillis")
    keys <- fields.long("keys")
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
    batchesSkipped,
    filterBytes,
    buildMillis,
    waitMillis,
    keys
  )
}
