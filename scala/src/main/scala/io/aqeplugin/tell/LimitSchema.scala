package io.aqeplugin.tell

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide._

/** The part of [[EventSchema]] for limits: the fields that [[LimitJson]] writes. */
private[tell] object LimitSchema {

  val Decision: ObjectSchema = ObjectSchema(
    "LimitDecision",
    "the decision for one limit, with its reason",
    Seq(
      FieldSchema("facts", "LimitFacts", "", "the facts that were known"),
      FieldSchema("choice", "text", "", "what the scan below the limit reads", values = LimitChoice.All.map(_.name)),
      FieldSchema("reason", "Reason", "", "why"),
      FieldSchema("filesChosen", "integer", "files", "files that the scan may read"),
      FieldSchema(
        "rowsProven",
        "integer",
        "rows",
        "rows of these files that pass the query's filters for certain; 0 for a sorted limit, whose files are chosen by their sort keys"
      )
    )
  )

  val Facts: ObjectSchema = ObjectSchema(
    "LimitFacts",
    "the facts of a limit when it was decided",
    Seq(
      FieldSchema("operator", "text", "", "the operator that takes the rows", values = LimitOperator.All.map(_.name)),
      FieldSchema("table", "text", "", "the scanned table; empty when the limit is not directly over a scan of files"),
      FieldSchema("rowsWanted", "integer", "rows", "rows that the limit takes, those that an offset skips included"),
      FieldSchema("files", "integer", "files", "files of the scan after partition pruning"),
      FieldSchema("bytes", "integer", "bytes", "bytes of these files"),
      FieldSchema("footers", "integer", "files", "files whose row count was known"),
      FieldSchema("footerMillis", "integer", "millis", "time that planning waited for footers")
    )
  )

  val Outcome: ObjectSchema = ObjectSchema(
    "LimitOutcome",
    "what the scan of a limit read",
    Seq(
      FieldSchema("filesListed", "integer", "files", "files that the scan could read"),
      FieldSchema("rowsRead", "integer", "rows", "rows that the scan's finished tasks read"),
      FieldSchema("splits", "integer", "splits", "splits that were started; null when Spark started them", required = false)
    )
  )

  val Decided: ObjectSchema = ObjectSchema(
    "LimitDecided",
    "event `io.aqeplugin.tell.LimitDecided`: one limit of one query, recorded when the query has ended",
    Seq(
      FieldSchema("schemaVersion", "integer", "", "version of this schema"),
      FieldSchema("executionId", "integer", "", "Spark's id of the query"),
      FieldSchema("timeMillis", "integer", "millis", "time of the decision since the epoch"),
      FieldSchema(
        "mode",
        "text",
        "",
        "mode of the decision, the lesser of `spark.aqePlugin.mode` and `spark.aqePlugin.limit.mode`",
        values = Mode.All.map(_.name)
      ),
      FieldSchema("applied", "boolean", "", "whether the plan reads what was chosen"),
      FieldSchema("decision", "LimitDecision", "", "the decision"),
      FieldSchema(
        "outcome",
        "LimitOutcome",
        "",
        "what was read; null when the limit is not directly over a scan of files",
        required = false
      ),
      FieldSchema.Arm
    )
  )

  val Objects: Seq[ObjectSchema] = Seq(Decision, Facts, Outcome, Decided)
}
