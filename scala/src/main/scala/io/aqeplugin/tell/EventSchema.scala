package io.aqeplugin.tell

import com.fasterxml.jackson.databind.{ObjectMapper, SerializationFeature}

import io.aqeplugin.conf.{GeneratedFile, Mode, TrialArm}
import io.aqeplugin.decide._

/** One field of a JSON object.
  *
  * @param kind
  *   `text`, `integer`, `number`, `boolean`, the name of an [[ObjectSchema]], or one of these with `[]` for a list
  * @param required
  *   false: the field may be null or missing
  */
final case class FieldSchema(name: String, kind: String, unit: String, doc: String, required: Boolean = true, values: Seq[String] = Nil)

final case class ObjectSchema(name: String, doc: String, fields: Seq[FieldSchema])

/** What [[DecisionJson]] and [[DecisionLog]] write, field by field; the contract that the Python half reads. A test holds it against real documents. */
object EventSchema {

  private val Decision = ObjectSchema(
    "JoinDecision",
    "what was decided for one join, and why",
    Seq(
      FieldSchema("schemaVersion", "integer", "", "version of this description"),
      FieldSchema("facts", "JoinFacts", "", "what was known"),
      FieldSchema("choice", "text", "", "the strategy", values = Strategy.All.map(_.name)),
      FieldSchema("reason", "Reason", "", "why that one"),
      FieldSchema("buildFilter", "boolean", "", "whether the build side's keys become a filter in the probe side's scans"),
      FieldSchema("filterReason", "Reason", "", "why they do, or do not"),
      FieldSchema("passRate", "number", "ratio", "estimated share of probe rows that a filter would let through"),
      FieldSchema("options", "WeighedOption[]", "", "every option, the chosen one included")
    )
  )

  private val Option = ObjectSchema(
    "WeighedOption",
    "one option that was weighed",
    Seq(
      FieldSchema("strategy", "text", "", "how the join would be done", values = Strategy.All.map(_.name)),
      FieldSchema("withFilter", "boolean", "", "whether with a filter on the probe side's scans"),
      FieldSchema(
        "costMillis",
        "number",
        "millis",
        "predicted cost; null when the option was ruled out before it was priced",
        required = false
      ),
      FieldSchema("reason", "Reason", "", "why it was taken, or not")
    )
  )

  private val ReasonObject = ObjectSchema(
    "Reason",
    "a stable code with the numbers behind it",
    Seq(
      FieldSchema("code", "text", "", "stable code, see reason_codes.json", values = ReasonCode.All.map(_.name)),
      FieldSchema("measured", "number", "see unit", "the value that was looked at", required = false),
      FieldSchema("limit", "number", "see unit", "what it was held against", required = false),
      FieldSchema("unit", "text", "", "unit of both; empty when there is no number"),
      FieldSchema("confKey", "text", "", "the conf key that moves the limit; empty when none does")
    )
  )

  private val Facts = ObjectSchema(
    "JoinFacts",
    "what was known of a join when it was decided",
    Seq(
      FieldSchema("joinId", "text", "", "the same for one join through all re-plans of one query"),
      FieldSchema("kind", "text", "", "how the join combines its sides", values = JoinKind.All.map(_.name)),
      FieldSchema("keys", "text[]", "", "the join keys"),
      FieldSchema("buildSide", "text", "", "the side that is done first", values = Seq(Side.Left, Side.Right).map(_.name)),
      FieldSchema("build", "BuildFacts", "", "the finished build side"),
      FieldSchema("probe", "ProbeFacts", "", "the probe side, as estimated before it runs"),
      FieldSchema("cluster", "ClusterFacts", "", "the machines"),
      FieldSchema("hint", "text", "", "the user's own join hint", required = false),
      FieldSchema("sparkStrategy", "text", "", "what Spark would do by itself", values = Strategy.All.map(_.name)),
      FieldSchema("canBroadcast", "boolean", "", "whether the join type lets the build side be broadcast"),
      FieldSchema(
        "filterObstacle",
        "text",
        "",
        "code of what the plan has against a filter",
        required = false,
        values = ReasonCode.All.map(_.name)
      ),
      FieldSchema(
        "waiting",
        "WaitDecision",
        "",
        "whether the probe side was to be held back; null when the build side was done",
        required = false
      )
    )
  )

  private val Build = ObjectSchema(
    "BuildFacts",
    "a finished build side",
    Seq(
      FieldSchema("rows", "integer", "rows", "rows the stage wrote; negative when not known"),
      FieldSchema("stageBytes", "integer", "bytes", "bytes the stage wrote, compressed for a shuffle"),
      FieldSchema("memoryBytesPerRow", "integer", "bytes", "bytes of one row in memory, as the join reads it"),
      FieldSchema("partitions", "integer", "partitions", "reduce partitions"),
      FieldSchema("maxPartitionBytes", "integer", "bytes", "largest reduce partition"),
      FieldSchema("medianPartitionBytes", "integer", "bytes", "median reduce partition"),
      FieldSchema(
        "originRows",
        "integer",
        "rows",
        "rows of the table that the keys come from, before anything removed some",
        required = false
      ),
      FieldSchema("alreadyBroadcast", "boolean", "", "a finished broadcast relation, not a shuffle"),
      FieldSchema("keys", "KeyFacts", "", "the join keys of this side"),
      FieldSchema(
        "unmeasuredColumns",
        "integer",
        "columns",
        "columns of variable width whose bytes nobody measured, such as strings computed above the stage"
      )
    )
  )

  private val Probe = ObjectSchema(
    "ProbeFacts",
    "a probe side, as estimated before it runs",
    Seq(
      FieldSchema("rows", "integer", "rows", "rows that reach the join"),
      FieldSchema("scanRows", "integer", "rows", "rows that the reachable scans produce; negative when not known"),
      FieldSchema("rowBytes", "integer", "bytes", "bytes of one row in memory"),
      FieldSchema("exchanges", "integer", "shuffles", "shuffles between the scans and the join, the join's own included"),
      FieldSchema("started", "boolean", "", "the probe side's stage exists already; in mode observe, whether it would in mode apply"),
      FieldSchema("targets", "integer", "scans", "scans that the keys reach"),
      FieldSchema("keys", "KeyFacts", "", "the join keys of this side", required = false)
    )
  )

  private val Keys = ObjectSchema(
    "KeyFacts",
    "what is known of one side's join keys",
    Seq(
      FieldSchema("columns", "integer", "columns", "key columns"),
      FieldSchema("supported", "boolean", "", "whether every column has a type that a filter can hold"),
      FieldSchema("distinct", "integer", "keys", "distinct keys", required = false),
      FieldSchema("nulls", "integer", "rows", "rows whose key has a null in it", required = false),
      FieldSchema("min", "integer", "", "smallest value of a single integral key", required = false),
      FieldSchema("max", "integer", "", "largest value of a single integral key", required = false),
      FieldSchema("histogram", "KeyBucket[]", "", "equi-height buckets of a single integral key, ascending"),
      FieldSchema("originDistinct", "integer", "keys", "distinct keys of the table that the keys come from", required = false)
    )
  )

  private val Bucket = ObjectSchema(
    "KeyBucket",
    "one bucket of an equi-height histogram",
    Seq(
      FieldSchema("low", "integer", "", "smallest key"),
      FieldSchema("high", "integer", "", "largest key"),
      FieldSchema("rows", "integer", "rows", "rows whose key is in between, both ends included")
    )
  )

  private val Cluster = ObjectSchema(
    "ClusterFacts",
    "the machines a query runs on",
    Seq(
      FieldSchema("slots", "integer", "tasks", "tasks that can run at once"),
      FieldSchema("executors", "integer", "executors", "executors that a broadcast goes to")
    )
  )

  private val Wait = ObjectSchema(
    "WaitDecision",
    "whether a probe side was held back until its build side was done",
    Seq(
      FieldSchema("waits", "boolean", "", "whether it was"),
      FieldSchema("reason", "Reason", "", "why, or why not"),
      FieldSchema("savingMillis", "number", "millis", "elapsed time that the finished build side was expected to save"),
      FieldSchema("idleMillis", "number", "millis", "elapsed time that slots were expected to stand idle for it")
    )
  )

  private val Arm = FieldSchema(
    "arm",
    "text",
    "",
    "the side of a trial that the query is on; null when nothing is tried",
    required = false,
    values = TrialArm.All.map(_.name)
  )

  private val Decided = ObjectSchema(
    "JoinDecided",
    "event `io.aqeplugin.tell.JoinDecided`: one join of one query was decided; once, however often Spark plans anew",
    Seq(
      FieldSchema("schemaVersion", "integer", "", "version of this description"),
      FieldSchema("executionId", "integer", "", "Spark's id of the query"),
      FieldSchema("timeMillis", "integer", "millis", "when, since the epoch"),
      FieldSchema("mode", "text", "", "how far the plugin went", values = Mode.All.map(_.name)),
      FieldSchema("decision", "JoinDecision", "", "the decision"),
      FieldSchema("filters", "FilterPlanned[]", "", "where its filter was put, or not put"),
      Arm
    )
  )

  private val Planned = ObjectSchema(
    "FilterPlanned",
    "one filter on one scan, as planned",
    Seq(
      FieldSchema("filterId", "text", "", "the same for one filter on one scan"),
      FieldSchema("joinId", "text", "", "the join whose keys it holds"),
      FieldSchema("table", "text", "", "the table that is scanned"),
      FieldSchema("scanColumns", "text[]", "", "the columns that are checked"),
      FieldSchema("applied", "boolean", "", "whether it is in the plan"),
      FieldSchema("reason", "Reason", "", "why, or why not")
    )
  )

  private val Ended = ObjectSchema(
    "QueryEnded",
    "event `io.aqeplugin.tell.QueryEnded`: a query with decisions has ended",
    Seq(
      FieldSchema("schemaVersion", "integer", "", "version of this description"),
      FieldSchema("executionId", "integer", "", "Spark's id of the query"),
      FieldSchema("timeMillis", "integer", "millis", "when, since the epoch"),
      FieldSchema("durationMillis", "integer", "millis", "wall time of the query"),
      FieldSchema("ruleMillis", "integer", "millis", "time spent in the plugin's own rules"),
      FieldSchema("planned", "integer", "filters", "filters in the plan that ran"),
      FieldSchema("applied", "integer", "filters", "those that their scan found when it ran; fewer than planned is a fault"),
      FieldSchema("errors", "integer", "errors", "faults of the plugin that left Spark's own plan in force"),
      FieldSchema("outcomes", "FilterOutcome[]", "", "what each filter on each scan did"),
      Arm
    )
  )

  private val Outcome = ObjectSchema(
    "FilterOutcome",
    "what one filter on one scan did, summed over all tasks of the query",
    Seq(
      FieldSchema("filterId", "text", "", "the same as in FilterPlanned"),
      FieldSchema("joinId", "text", "", "the join whose keys it holds"),
      FieldSchema("table", "text", "", "the table that was scanned"),
      FieldSchema("scanColumns", "text[]", "", "the columns that were checked"),
      FieldSchema("kind", "text", "", "kind of filter; pass_all when none was built, missing when the scan did not find it"),
      FieldSchema("reason", "Reason", "", "why it passed everything", required = false),
      FieldSchema("rowsIn", "integer", "rows", "rows that it checked"),
      FieldSchema("rowsOut", "integer", "rows", "rows that it let through"),
      FieldSchema("batchesSkipped", "integer", "batches", "batches that passed unchecked while it rested, having removed too little"),
      FieldSchema("filterBytes", "integer", "bytes", "memory that it holds"),
      FieldSchema("buildMillis", "integer", "millis", "time its build took"),
      FieldSchema("waitMillis", "integer", "millis", "time from the plan's start until the scan had its filters"),
      FieldSchema("keys", "integer", "rows", "build rows with a key")
    )
  )

  /** Every object, the root of a decision first, then the events that carry it. */
  val Objects: Seq[ObjectSchema] =
    Seq(Decision, Option, ReasonObject, Facts, Build, Probe, Keys, Bucket, Cluster, Wait, Decided, Planned, Ended, Outcome)

  lazy val File: GeneratedFile = GeneratedFile("aqe_plugin/events/event_schema.json", render)

  private def render: String = {
    val mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT)
    val root = mapper.createObjectNode().put("schemaVersion", DecisionJson.SchemaVersion)
    val objects = root.putArray("objects")
    Objects.foreach { schema =>
      val fields = objects.addObject().put("name", schema.name).put("doc", schema.doc).putArray("fields")
      schema.fields.foreach { field =>
        val node = fields.addObject().put("name", field.name).put("type", field.kind).put("unit", field.unit)
        node.put("required", field.required).put("doc", field.doc)
        if (field.values.nonEmpty) {
          val values = node.putArray("values")
          field.values.foreach(values.add(_))
        }
      }
    }
    mapper.writeValueAsString(root).replace("\r\n", "\n") + "\n"
  }
}
