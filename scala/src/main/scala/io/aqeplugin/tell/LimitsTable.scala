package io.aqeplugin.tell

import java.time.Instant

import org.apache.spark.sql.Row
import org.apache.spark.sql.types.TimestampType

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide.{LimitChoice, LimitOperator}

/** `aqe_limits()`: one row for each of the latest limits of this application's queries that have ended, from all sessions. */
object LimitsTable extends DriverTable(
      "aqe_limits",
      "one row for each of the latest limits of this application's queries",
      DecisionColumns.schemaOf(LimitColumns.All)
    ) {
  override protected def latest: Seq[Row] = LatestRows.Limits.all.map(DecisionColumns.rowOf(LimitColumns.All, _))
}

/** The columns of `aqe_limits()`: names, types, units and meaning. */
object LimitColumns {
  import DecisionColumns._

  val All: Seq[DecisionColumn[KeptLimit]] = Seq[DecisionColumn[KeptLimit]](
    column("decided_at", TimestampType, "", "when the limit was decided")(r => Instant.ofEpochMilli(r.limit.timeMillis)),
    whole("execution_id", "", "Spark's id of the query")(_.executionId),
    text("description", "the query as Spark's UI shows it, as in `aqe_decisions()`")(_.origin.description),
    text("mode", oneOf("mode of the plugin", Mode.All.map(_.name)))(_.mode.name),
    text("operator", oneOf("the operator that takes the rows", LimitOperator.All.map(_.name)))(_.limit.decision.facts.operator.name),
    text("table", "the scanned table; null when the limit is not directly over a scan of files")(r =>
      nonEmpty(r.limit.decision.facts.table)
    ),
    whole("rows_wanted", "rows", "rows that the limit takes, those that an offset skips included")(_.limit.decision.facts.rowsWanted),
    text("choice", oneOf("what the scan reads", LimitChoice.All.map(_.name)))(_.limit.decision.choice.name)
  ) ++ reason[KeptLimit]("reason", "why")(r => Some(r.limit.decision.reason)) ++ Seq[DecisionColumn[KeptLimit]](
    flag("applied", "whether the plan reads what was chosen")(_.limit.applied),
    whole("files", "files", "files of the scan after partition pruning")(_.limit.decision.facts.files.toLong),
    whole("files_chosen", "files", "files that the scan may read")(_.limit.decision.filesChosen.toLong),
    whole("rows_proven", "rows", "rows of these files that pass the query's filters for certain")(_.limit.decision.rowsProven),
    whole("footers", "files", "files whose row count was known")(_.limit.decision.facts.footers.toLong),
    whole("footer_millis", "millis", "time that planning waited for footers")(_.limit.decision.facts.footerMillis),
    whole("rows_read", "rows", "rows that the scan's finished tasks read")(_.outcome.map(_.rowsRead)),
    whole("splits", "splits", "splits that were started; null when Spark started them")(_.outcome.flatMap(_.splits))
  )
}
