package io.aqeplugin.tell

import java.time.Instant

import org.apache.spark.sql.Row
import org.apache.spark.sql.types.TimestampType

/** `aqe_predicates()`: one row for each of the latest predicates that were inferred across joins, from all sessions. */
object PredicatesTable extends DriverTable(
      "aqe_predicates",
      "one row for each of the latest predicates that were inferred across joins",
      DecisionColumns.schemaOf(PredicateColumns.All)
    ) {
  override protected def latest: Seq[Row] = LatestRows.Predicates.all.map(DecisionColumns.rowOf(PredicateColumns.All, _))
}

/** The columns of `aqe_predicates()`: names, types, units and meaning. */
object PredicateColumns {
  import DecisionColumns._
  import PredicateSchema.Inferred

  val All: Seq[DecisionColumn[PredicateInferred]] = Seq[DecisionColumn[PredicateInferred]](
    column("inferred_at", TimestampType, "", "when the query was planned")(event => Instant.ofEpochMilli(event.timeMillis)),
    whole(Inferred("executionId"))(_.executionId),
    text(Inferred("mode"))(_.mode),
    text(Inferred("table"))(_.table),
    text(Inferred("predicate"))(_.predicate),
    text(Inferred("inferredBy"))(_.inferredBy),
    flag(Inferred("applied"))(_.applied)
  )
}
