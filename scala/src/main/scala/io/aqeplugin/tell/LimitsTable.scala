package io.aqeplugin.tell

import java.time.Instant

import org.apache.spark.sql.Row
import org.apache.spark.sql.types.{StructType, TimestampType}

import io.aqeplugin.limit.LimitFacts

/** `aqe_limits()`: one row for each of the latest limits of this application's queries that have ended, from all sessions. */
object LimitsTable extends DriverTable("aqe_limits", "one row for each of the latest limits of this application's queries") {
  override protected def columnTypes: StructType = LimitColumns.Schema

  override protected def latest: Seq[Row] = LatestRows.Limits.all.map(TableColumns.rowOf(LimitColumns.All, _))
}

/** The columns of `aqe_limits()`: names, types, units and meaning. */
object LimitColumns {
  import TableColumns._
  private val Decided = EventSchema.LimitEvent
  private val Decision = EventSchema.Limit.schema
  private val Facts = Form.of[LimitFacts].schema
  private val Outcome = EventSchema.LimitRead.schema

  val All: Seq[TableColumn[KeptLimit]] = Seq[TableColumn[KeptLimit]](
    column("decided_at", TimestampType, "", "when the limit was decided")(r => Instant.ofEpochMilli(r.timeMillis)),
    whole(Decided("executionId"))(_.executionId),
    text("description", "the query as Spark's UI shows it, as in `aqe_decisions()`")(_.origin.description),
    text(Decided("mode"))(_.mode.name),
    text(Facts("operator"))(_.decision.facts.operator.name),
    text("table", "the scanned table; null when the limit is not directly over a scan of files")(r =>
      nonEmpty(r.decision.facts.table)
    ),
    whole(Facts("rowsWanted"))(_.decision.facts.rowsWanted),
    text(Decision("choice"))(_.decision.choice.name)
  ) ++ reason[KeptLimit]("reason", "why")(r => Some(r.decision.reason)) ++ Seq[TableColumn[KeptLimit]](
    flag(Decided("applied"))(_.applied),
    whole(Facts("files"))(_.decision.facts.files.toLong),
    whole(Decision("filesChosen"))(_.decision.filesChosen.toLong),
    whole(Decision("rowsProven"))(_.decision.rowsProven),
    whole(Facts("footers"))(_.decision.facts.footers.toLong),
    whole(Facts("footerMillis"))(_.decision.facts.footerMillis),
    whole(Outcome("rowsRead"))(_.outcome.map(_.rowsRead)),
    whole(Outcome("splits"))(_.outcome.flatMap(_.splits))
  )

  val Schema: StructType = schemaOf(All)
}
