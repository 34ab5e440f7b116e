package io.aqeplugin.tell

import org.apache.spark.sql.Row
import org.apache.spark.sql.types.StructType

/** `aqe_decisions()`: one row for each join decision of this application's recent queries, from all sessions. */
object DecisionsTable extends DriverTable("aqe_decisions", "one row for each join decision of this application's recent queries") {

  override protected def columnTypes: StructType = DecisionColumns.Schema

  override protected def latest: Seq[Row] = {
    val recent = RecentDecisions.current
    recent.queries.flatMap { query =>
      val status = recent.status(query)
      query.decisions.map(decision => DecisionColumns.row(DecisionRow(query, status, decision)))
    }
  }
}
