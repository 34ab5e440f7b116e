package io.aqeplugin.tell

import java.time.Instant

import org.apache.spark.sql.Row
import org.apache.spark.sql.types.{StructType, TimestampType}

/** `aqe_predicates()`: one row for each of the latest predicates that were inferred across joins, from all sessions. */
object PredicatesTable extends DriverTable("aqe_predicates", "one row for each of the latest predicates that were inferred across joins") {
  override protected def columnTypes: StructType = PredicateColumns.Schema

  override protected def latest: Seq[Row] = LatestRows.Predicates.all.map(TableColumns.rowOf(PredicateColumns.All, _))
}

/** The columns of `aqe_predicates()`: names, types, units and meaning. */
object PredicateColumns {
  import TableColumns._
  private val Inferred = EventSchema.PredicateEvent

  val All: Seq[TableColumn[PredicateInferred]] = Seq[TableColumn[PredicateInferred]](
    column("inferred_at", TimestampType, "", "when the query was planned")(event => Instant.ofEpochMilli(event.timeMillis)),
    whole(Inferred("executionId"))(_.executionId),
    text(Inferred("mode"))(_.mode),
    text(Inferred("table"))(_.table),
    text(Inferred("predicate"))(_.predicate),
    text(Inferred("inferredBy"))(_.inferredBy),
    flag(Inferred("applied"))(_.applied)
  )

  val Schema: StructType = schemaOf(All)
}
