package io.aqeplugin.tell

import io.aqeplugin.conf.{Mode, TrialArm}
import io.aqeplugin.decide._

/** One field of a JSON object.
  *
  * @param kind
  *   `text`, `integer`, `number`, `boolean`, the name of an [[ObjectSchema]], or one of these with `[]` for a list
  * @param required
  *   false if the field may be null or missing
  */
final case class FieldSchema(name: String, kind: String, unit: String, doc: String, required: Boolean = true, values: Seq[String] = Nil)

object FieldSchema {

  /** Of every event. */
  val Arm: FieldSchema = FieldSchema(
    "arm",
    "text",
    "",
    "the query's arm; null without a canary",
    required = false,
    values = TrialArm.All.map(_.name)
  )
}

final case class ObjectSchema(name: String, doc: String, fields: Seq[FieldSchema]) {

  /** @throws java.util.NoSuchElementException
    *   there is no such field
    */
  def apply(field: String): FieldSchema = fields.find(_.name == field).getOrElse(throw new NoSuchElementException(s"$name.$field"))
}

/** Describes every field that [[DecisionJson]] and [[DecisionLog]] write. The Python half reads documents by this schema, and a test
  * compares it with real documents.
  */
object EventSchema {

  /** Where a filter is. */
  val FilterPlaces = "the scanned table; `(shuffle)` or `(broadcast)` of a filter in front of that exchange"

  private val Decision = ObjectSchema(
    "JoinDecision",
    "the decision for one join, with its reasons",
    Seq(
      FieldSchema("schemaVersion", "integer", "", "version of this schema"),
      FieldSchema("facts", "JoinFacts", "", "the facts that were known"),
      FieldSchema("choice", "text", "", "the strategy", values = Strategy.All.map(_.name)),
      FieldSchema("reason", "Reason", "", "why this strategy"),
      FieldSchema("buildFilter", "boolean", "", "whether the build side's keys become a filter in the probe side's scans"),
      FieldSchema("filterReason", "Reason", "", "why they do or do not"),
      FieldSchema("passRate", "number", "ratio", "estimated share of probe rows that a filter would let through"),
      FieldSchema("passRateSource", "text", "", "what that share was estimated from", required = false),
      FieldSchema("options", "WeighedOption[]", "", "every option, the chosen one included")
    )
  )

  private val Option = ObjectSchema(
    "WeighedOption",
    "one option",
    Seq(
      FieldSchema("strategy", "text", "", "the join strategy", values = Strategy.All.map(_.name)),
      FieldSchema("withFilter", "boolean", "", "whether the probe side's scans have a filter"),
      FieldSchema(
        "costMillis",
        "number",
        "millis",
        "predicted cost; null when the option was ruled out before it was priced",
        required = false
      ),
      FieldSchema("reason", "Reason", "", "why the option was taken or not"),
      FieldSchema("terms", "CostTerm[]", "", "the parts of the cost", required = false)
    )
  )

  private val Term = ObjectSchema(
    "CostTerm",
    "one part of a predicted cost",
    Seq(
      FieldSchema("name", "text", "", "as in the formula of the price"),
      FieldSchema("nanos", "number", "nanos", "elapsed time")
    )
  )

  private val ReasonObject = ObjectSchema(
    "Reason",
    "a stable code with the numbers behind it",
    Seq(
      FieldSchema("code", "text", "", "stable code, see reason_codes.json", values = ReasonCode.All.map(_.name)),
      FieldSchema("measured", "number", "see unit", "the value that was compared with the limit", required = false),
      FieldSchema("limit", "number", "see unit", "the limit", required = false),
      FieldSchema("unit", "text", "", "unit of both numbers; empty without numbers"),
      FieldSchema("confKey", "text", "", "the conf key that sets the limit; empty when none does"),
      FieldSchema("subject", "text", "", "the name of what the reason is about, such as the class of an operator", required = false)
    )
  )

  private val Facts = ObjectSchema(
    "JoinFacts",
    "the facts of a join when it was decided",
    Seq(
      FieldSchema(
        "joinId",
        "text",
        "",
        "identifies the join in its query, in every run that Spark plans alike: type and key columns, and a number if the query has several such joins"
      ),
      FieldSchema("kind", "text", "", "how the join combines its sides", values = JoinKind.All.map(_.name)),
      FieldSchema("keys", "text[]", "", "the join keys"),
      FieldSchema("buildSide", "text", "", "the side that finishes first", values = Seq(Side.Left, Side.Right).map(_.name)),
      FieldSchema("build", "BuildFacts", "", "the finished build side"),
      FieldSchema("probe", "ProbeFacts", "", "the probe side, as estimated before it runs"),
      FieldSchema("cluster", "ClusterFacts", "", "the size of the cluster"),
      FieldSchema("hint", "text", "", "the user's own join hint", required = false),
      FieldSchema("sparkStrategy", "text", "", "what Spark would do by itself", values = Strategy.All.map(_.name)),
      FieldSchema("canBroadcast", "boolean", "", "whether the join type and the session allow a broadcast of the build side"),
      FieldSchema(
        "filterObstacle",
        "text",
        "",
        "why the plan allows no filter: a reason code",
        required = false,
        values = ReasonCode.All.map(_.name)
      ),
      FieldSchema(
        "waiting",
        "WaitDecision",
        "",
        "whether the probe side was to wait; null when the build side had finished by then",
        required = false
      ),
      FieldSchema(
        "memory",
        "MemoryFacts",
        "",
        "the memory for broadcasts, filters and hashed partitions; null where nothing was measured",
        required = false
      ),
      FieldSchema(
        "orderUsed",
        "boolean",
        "",
        "whether an operator above relies on the order and the partitioning in which a sort-merge join leaves its rows",
        required = false
      ),
      FieldSchema(
        "written",
        "boolean",
        "",
        "whether the query writes the rows of the join and no other shuffle lies between, so that the tasks of the join write",
        required = false
      )
    )
  )

  private val Build = ObjectSchema(
    "BuildFacts",
    "a finished build side",
    Seq(
      FieldSchema("rows", "integer", "rows", "rows that the stage wrote; negative when unknown"),
      FieldSchema("stageBytes", "integer", "bytes", "bytes that the stage wrote, compressed for a shuffle"),
      FieldSchema("memoryBytesPerRow", "integer", "bytes", "in-memory bytes of one row with the columns that the join reads"),
      FieldSchema("partitions", "integer", "partitions", "number of reduce partitions"),
      FieldSchema("maxPartitionBytes", "integer", "bytes", "bytes of the largest reduce partition"),
      FieldSchema("medianPartitionBytes", "integer", "bytes", "bytes of the median reduce partition"),
      FieldSchema(
        "originRows",
        "integer",
        "rows",
        "rows of the table that the keys come from, before the build side's filters and joins",
        required = false
      ),
      FieldSchema("alreadyBroadcast", "boolean", "", "whether the build side is a finished broadcast relation"),
      FieldSchema("keys", "KeyFacts", "", "the join keys of this side"),
      FieldSchema(
        "unmeasuredColumns",
        "integer",
        "columns",
        "number of variable-width columns whose bytes were not measured, such as strings computed above the stage",
        required = false
      ),
      FieldSchema("originRowsSource", "text", "", "what `originRows` was taken from", required = false),
      FieldSchema(
        "exchanges",
        "integer",
        "shuffles",
        "shuffles that the build side still goes through unless it is broadcast",
        required = false
      )
    )
  )

  private val Probe = ObjectSchema(
    "ProbeFacts",
    "a probe side, as estimated before it runs",
    Seq(
      FieldSchema("rows", "integer", "rows", "estimated rows that reach the join"),
      FieldSchema("scanRows", "integer", "rows", "estimated rows of the scans that the keys reach; negative when unknown"),
      FieldSchema("rowBytes", "integer", "bytes", "bytes of one row in memory"),
      FieldSchema("exchanges", "integer", "shuffles", "number of shuffles between the scans and the join, the join's own included"),
      FieldSchema("started", "boolean", "", "whether the probe side has started; in mode observe, whether it would have in mode apply"),
      FieldSchema("targets", "integer", "scans", "number of scans that the keys reach"),
      FieldSchema("keys", "KeyFacts", "", "the join keys of this side", required = false),
      FieldSchema("rowsSource", "text", "", "the least sure of what `rows` was taken from", required = false),
      FieldSchema("scanRowsSource", "text", "", "the least sure of what `scanRows` was taken from", required = false),
      FieldSchema(
        "prunableBytes",
        "integer",
        "bytes",
        "estimated bytes that these scans read of tables of which the only key is a partition column, so that a filter leaves out files",
        required = false
      ),
      FieldSchema(
        "otherUsesPassRate",
        "number",
        "ratio",
        "share of the scans' rows that must pass for other uses of a shared scan; 0 unless the filter is part of a union",
        required = false
      ),
      FieldSchema(
        "path",
        "PathStep[]",
        "",
        "the operators between the scans and the join, without its own shuffle and sort; missing in old logs",
        required = false
      ),
      FieldSchema(
        "scanRowsBefore",
        "integer",
        "rows",
        "`scanRows` without the filters of other joins; null where none is counted in",
        required = false
      ),
      FieldSchema(
        "beforeExchange",
        "boolean",
        "",
        "the keys reach no scan that could be filtered, but inputs of exchanges, of which `scanRows` are the rows",
        required = false
      ),
      FieldSchema("sample", "SampledKeys", "", "a sample of the only scan, if the build keys are known one by one", required = false)
    )
  )

  private val Sample = ObjectSchema(
    "SampledKeys",
    "sampled rows of the probe side's scan",
    Seq(
      FieldSchema("rows", "integer", "rows", "rows of the sample"),
      FieldSchema("matches", "integer", "rows", "those of them whose key is one of the build side's"),
      FieldSchema("independentRows", "number", "rows", "so many rows, drawn one by one, would say as much")
    )
  )

  private val Step = ObjectSchema(
    "PathStep",
    "an operator that a row of a probe side goes through before it reaches the join",
    Seq(
      FieldSchema("work", "text", "", "what the operator does with the row", values = PathStep.Names),
      FieldSchema("rows", "integer", "rows", "estimated rows that go into it"),
      FieldSchema(
        "rowBytes",
        "integer",
        "bytes",
        "of a shuffle, a broadcast and a filter source: bytes of one row in memory",
        required = false
      ),
      FieldSchema("partitions", "integer", "partitions", "of a sort: number of partitions, each sorted by itself", required = false),
      FieldSchema("tableRows", "integer", "rows", "of a lookup: estimated rows of one hash table", required = false),
      FieldSchema("tableRowBytes", "integer", "bytes", "of a lookup: bytes of one row of the hash table in memory", required = false),
      FieldSchema(
        "byRow",
        "boolean",
        "",
        "of a lookup: its key is a row, as it has several columns or is no integer, or a condition is checked for every match; false in old logs",
        required = false
      ),
      FieldSchema(
        "probeRows",
        "integer",
        "rows",
        "of a broadcast: estimated rows that are looked up at random in its table; of a filter source: of the scans that it filters",
        required = false
      ),
      FieldSchema("keys", "integer", "keys", "of a filter source: number of keys that these scans have", required = false),
      FieldSchema(
        "scanBytes",
        "integer",
        "bytes",
        "of a shared shuffle: estimated bytes that the scans read",
        required = false
      ),
      FieldSchema(
        "share",
        "number",
        "",
        "of a shared shuffle: the part of it that is spared if the join does without, 0 if another use needs it anyway",
        required = false
      )
    )
  )

  private val Keys = ObjectSchema(
    "KeyFacts",
    "what is known of one side's join keys",
    Seq(
      FieldSchema("columns", "integer", "columns", "number of key columns"),
      FieldSchema("supported", "boolean", "", "whether every column has a type that a filter can hold"),
      FieldSchema("distinct", "integer", "keys", "distinct keys", required = false),
      FieldSchema("nulls", "integer", "rows", "rows whose key contains a null", required = false),
      FieldSchema("min", "integer", "", "smallest value of a single integral key", required = false),
      FieldSchema("max", "integer", "", "largest value of a single integral key", required = false),
      FieldSchema("histogram", "KeyBucket[]", "", "buckets of a single integral key, ascending"),
      FieldSchema("originDistinct", "integer", "keys", "distinct keys of the table that the keys come from", required = false),
      FieldSchema("kept", "boolean", "", "whether the driver has every distinct key, so that a filter needs no job", required = false),
      FieldSchema("asRange", "boolean", "", "whether a filter holds only the least and the greatest value", required = false),
      FieldSchema(
        "byRow",
        "boolean",
        "",
        "whether hash joins look the only column up as a row, because it is not an integer",
        required = false
      ),
      FieldSchema(
        "hashed",
        "boolean",
        "",
        "whether filters hash the only column, because their codes are not its values",
        required = false
      ),
      FieldSchema("computed", "integer", "keys", "keys that a scan computes from a column", required = false)
    )
  )

  private val Bucket = ObjectSchema(
    "KeyBucket",
    "one bucket of an equi-height histogram",
    Seq(
      FieldSchema("low", "integer", "", "smallest key"),
      FieldSchema("high", "integer", "", "largest key"),
      FieldSchema("rows", "integer", "rows", "rows whose key is between the two, both included")
    )
  )

  private val Cluster = ObjectSchema(
    "ClusterFacts",
    "the size of the cluster that a query runs on",
    Seq(
      FieldSchema("slots", "integer", "tasks", "number of tasks that can run at once"),
      FieldSchema("executors", "integer", "executors", "number of executors that receive a broadcast")
    )
  )

  private val Memory = ObjectSchema(
    "MemoryFacts",
    "the memory of the driver and of each executor for broadcasts that Spark would not make, and for filters",
    Seq(
      FieldSchema("limitBytes", "integer", "bytes", "what all running queries of the application may hold"),
      FieldSchema("heldBytes", "integer", "bytes", "what they held when the join was decided"),
      FieldSchema(
        "taskBytes",
        "integer",
        "bytes",
        "what a task is sure to get of its executor's execution memory, less what the query's shuffled hash joins hold of it",
        required = false
      ),
      FieldSchema(
        "hashedBytes",
        "integer",
        "bytes",
        "what the query's other shuffled hash joins held of a task's execution memory",
        required = false
      ),
      FieldSchema("pageBytes", "integer", "bytes", "the smallest page of a broadcast hash table of rows", required = false)
    )
  )

  private val Wait = ObjectSchema(
    "WaitDecision",
    "whether a probe side waited for its build side",
    Seq(
      FieldSchema("waits", "boolean", "", "whether the probe side waited"),
      FieldSchema("reason", "Reason", "", "why it waited or not"),
      FieldSchema("savingMillis", "number", "millis", "estimated elapsed time that the finished build side saves"),
      FieldSchema("idleMillis", "number", "millis", "estimated elapsed time for which the wait leaves slots idle"),
      FieldSchema("buildMillis", "number", "millis", "estimated elapsed time that the build side takes", required = false),
      FieldSchema(
        "outcome",
        "text",
        "",
        "how the wait ended; null if there was none, or its end was not seen",
        required = false,
        values = WaitEnd.All.map(_.name)
      ),
      FieldSchema("waitedMillis", "number", "millis", "how long the wait lasted", required = false)
    )
  )

  private val Decided = ObjectSchema(
    "JoinDecided",
    "event `io.aqeplugin.tell.JoinDecided`: one join of one query was decided; one event per join, however often Spark re-plans",
    Seq(
      FieldSchema("schemaVersion", "integer", "", "version of this schema"),
      FieldSchema("executionId", "integer", "", "Spark's id of the query"),
      FieldSchema("timeMillis", "integer", "millis", "time since the epoch"),
      FieldSchema("mode", "text", "", "mode of the plugin", values = Mode.All.map(_.name)),
      FieldSchema("decision", "JoinDecision", "", "the decision"),
      FieldSchema("filters", "FilterPlanned[]", "", "where the join's filters were placed, or why not"),
      FieldSchema.Arm
    )
  )

  private val Planned = ObjectSchema(
    "FilterPlanned",
    "one filter in one place, as planned",
    Seq(
      FieldSchema("filterId", "text", "", "identifies one filter in one place, on a scan or in front of an exchange"),
      FieldSchema("joinId", "text", "", "the join whose keys the filter holds"),
      FieldSchema("table", "text", "", FilterPlaces),
      FieldSchema("scanColumns", "text[]", "", "the checked columns"),
      FieldSchema("applied", "boolean", "", "whether the filter is in the plan"),
      FieldSchema("reason", "Reason", "", "why the filter was placed or not")
    )
  )

  private val Ended = ObjectSchema(
    "QueryEnded",
    "event `io.aqeplugin.tell.QueryEnded`: a query with decisions has ended",
    Seq(
      FieldSchema("schemaVersion", "integer", "", "version of this schema"),
      FieldSchema("executionId", "integer", "", "Spark's id of the query"),
      FieldSchema("timeMillis", "integer", "millis", "time since the epoch"),
      FieldSchema("durationMillis", "integer", "millis", "elapsed time of the query"),
      FieldSchema("ruleMillis", "integer", "millis", "time spent in the plugin's own rules, without the inference of predicates"),
      FieldSchema("planned", "integer", "filters", "filters in the plan that ran"),
      FieldSchema("applied", "integer", "filters", "planned filters that their scan found when it ran; fewer than planned is a fault"),
      FieldSchema(
        "errors",
        "integer",
        "errors",
        "faults of the plugin's rules and filters, after which the query went on without what had failed"
      ),
      FieldSchema("outcomes", "FilterOutcome[]", "", "outcome of each filter on each scan"),
      FieldSchema.Arm,
      FieldSchema(
        "badConf",
        "text",
        "",
        "key and value of the query's conf that is not allowed, for which the plugin left the query alone",
        required = false
      ),
      FieldSchema("flips", "FlipPoint[]", "", "where the decisions of the query's joins change", required = false)
    )
  )

  private val Flip = ObjectSchema(
    "FlipPoint",
    "the value of a fact or a threshold from which on a join's decision is another one, if nothing else changes",
    Seq(
      FieldSchema("joinId", "text", "", "the join"),
      FieldSchema(
        "fact",
        "text",
        "",
        "the fact, or the conf key of a threshold that refused an option",
        values = FlipInput.All.map(_.name)
      ),
      FieldSchema("unit", "text", "", "unit of both values"),
      FieldSchema("actual", "number", "see unit", "the value in the decision"),
      FieldSchema("value", "number", "see unit", "the nearest value with another decision, at most 1 % off"),
      FieldSchema("choice", "text", "", "the decision there", values = Strategy.All.map(_.name)),
      FieldSchema("withFilter", "boolean", "", "whether it has a filter")
    )
  )

  private val Outcome = ObjectSchema(
    "FilterOutcome",
    "the outcome of one filter in one place, summed over all tasks of the query",
    Seq(
      FieldSchema("filterId", "text", "", "the id in FilterPlanned"),
      FieldSchema("joinId", "text", "", "the join whose keys the filter holds"),
      FieldSchema("table", "text", "", FilterPlaces),
      FieldSchema("scanColumns", "text[]", "", "the checked columns"),
      FieldSchema("kind", "text", "", "kind of filter; pass_all when none was built, missing when the scan did not find it"),
      FieldSchema("reason", "Reason", "", "why the filter passed every row", required = false),
      FieldSchema("rowsIn", "integer", "rows", "rows that the filter checked"),
      FieldSchema("rowsOut", "integer", "rows", "checked rows that passed"),
      FieldSchema(
        "rowsUnchecked",
        "integer",
        "rows",
        "rows that passed unchecked: while the filter was paused because it removed too few rows, or because their key could not be computed"
      ),
      FieldSchema("filterBytes", "integer", "bytes", "memory of the filter"),
      FieldSchema("buildMillis", "integer", "millis", "duration of the filter build"),
      FieldSchema("waitMillis", "integer", "millis", "time from the plan's start until the scan had its filters"),
      FieldSchema("keys", "integer", "rows", "build rows with a key"),
      FieldSchema(
        "anyOf",
        "text",
        "",
        "the first filter of the union that the filter is part of, whose rows are those of the union; absent if it stands alone",
        required = false
      )
    )
  )

  /** Every object: first a decision with its parts, then the events that contain them. */
  val Objects: Seq[ObjectSchema] =
    Seq(
      Decision,
      Option,
      Term,
      ReasonObject,
      Facts,
      Build,
      Probe,
      Keys,
      Bucket,
      Step,
      Sample,
      Cluster,
      Memory,
      Wait,
      Decided,
      Planned,
      Ended,
      Outcome,
      Flip
    ) ++ LimitSchema.Objects ++ PredicateSchema.Objects
}
