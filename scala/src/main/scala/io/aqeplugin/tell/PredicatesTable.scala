package io.aqeplugin.tell

import java.time.Instant

import org.apache.spark.sql.Row
import org.apache.spark.sql.types.TimestampType

import io.aqeplugin.conf.Mode
import io.aqeplugin.infer.InferredBy

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

  val All: Seq[DecisionColumn[PredicateInferred]] = Seq[DecisionColumn[PredicateInferred]](
    column("inferred_at", TimestampType, "", "when the query was planned")(event => Instant.ofEpochMilli(event.timeMillis)),
    whole("execution_id", "", "Spark's id of the query")(_.executionId),
    text("mode", oneOf("mode of the inference", Mode.All.map(_.name)))(_.mode),
    text("table", "the table whose scan the predicate filters")(_.table),
    text("predicate", "the predicate, redacted as the query's description")(_.predicate),
    text("inferred_by", oneOf("how it follows from the query's conditions", InferredBy.All.map(_.name)))(_.inferredBy),
    flag("applied", "whether it is in the plan")(_.applied)
  )
}
