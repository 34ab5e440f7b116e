package io.aqeplugin.tell

import io.aqeplugin.conf.Mode
import io.aqeplugin.infer.InferredBy

/** The part of [[EventSchema]] for predicates that were inferred across joins. */
private[tell] object PredicateSchema {

  val Inferred: ObjectSchema = ObjectSchema(
    "PredicateInferred",
    "event `io.aqeplugin.tell.PredicateInferred`: one predicate of one scan that follows across a join; posted once per query",
    Seq(
      FieldSchema("schemaVersion", "integer", "", "version of this schema"),
      FieldSchema("executionId", "integer", "", "Spark's id of the query"),
      FieldSchema("timeMillis", "integer", "millis", "time since the epoch"),
      FieldSchema(
        "mode",
        "text",
        "",
        "mode of the inference, the lesser of `spark.aqePlugin.mode` and `spark.aqePlugin.predicates.mode`",
        values = Mode.All.map(_.name)
      ),
      FieldSchema("table", "text", "", "the table whose scan the predicate filters"),
      FieldSchema("predicate", "text", "", "the predicate as SQL, redacted and cut after 512 characters"),
      FieldSchema("inferredBy", "text", "", "how it follows from the query's conditions", values = InferredBy.All.map(_.name)),
      FieldSchema("applied", "boolean", "", "whether it is in the plan"),
      FieldSchema.Arm
    )
  )

  val Objects: Seq[ObjectSchema] = Seq(Inferred)
}
