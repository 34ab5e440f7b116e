package io.aqeplugin.tell

import java.time.Instant

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.Row
import org.apache.spark.sql.types._

import io.aqeplugin.conf.{Mode, TrialArm}
import io.aqeplugin.decide._
import io.aqeplugin.observe.{FilterOutcome, PlacedFilter}

/** The columns of `aqe_decisions()`: names, types, units and meaning. `docs/reference/decisions.md` is generated from them. */
object DecisionColumns {
  import TableColumns._

  val FilterStatuses: Seq[(String, String)] = Seq(
    "missing" -> "a fault: the scan did not find the filter that it waited for",
    "applied" -> "the scan's rows were checked",
    "passed_all" -> "no filter was built, so every row passed; the reason says why",
    "not_started" -> "the filter was in a plan, but did not run there: its scan never ran, or ran before the filter was ready",
    "not_placed" -> "the filter was not put into the plan; the reason says why"
  )

  private val Texts = ArrayType(StringType, containsNull = false)

  private val Weighed = Form.of[WeighedOption].schema
  private val Outcome = EventSchema.Outcome.schema
  private val Flip = EventSchema.Flip.schema
  private val Saving = EventSchema.Saving.schema
  private val Placed = EventSchema.Placed.schema
  private val Decision = Form.of[JoinDecision].schema
  private val Facts = DecisionJson.Facts.schema
  private val Build = Form.of[BuildFacts].schema
  private val Wait = Form.of[WaitDecision].schema
  private val Ended = Form.of[QueryEnded].schema
  private val Unforced = Form.of[Unforced].schema
  private val OfLookedAt = "null if nobody looked at the join"
  private val OnlyForced = "null unless `spark.aqePlugin.force` has an option for the join"

  val OptionFields: Seq[TableColumn[WeighedOption]] = Seq[TableColumn[WeighedOption]](
    text(Weighed("strategy"))(_.option.strategy.name),
    flag(Weighed("withFilter"))(_.option.withFilter),
    double(Weighed("costMillis"))(_.costMillis)
  ) ++ reason[WeighedOption]("reason", "why the option was not taken")(o => Some(o.reason))

  val FilterFields: Seq[TableColumn[FilterInPlace]] = Seq(
    text[FilterInPlace](Placed("filterId"))(f => either(f)(_.filterId, _.filterId)),
    text[FilterInPlace](Placed("table"))(f => either(f)(_.table, _.table)),
    column[FilterInPlace]("columns", Texts, "", Placed("scanColumns").doc)(f => either(f)(_.scanColumns, _.scanColumns)),
    text[FilterInPlace]("status", described("result of the filter", FilterStatuses))(_.status),
    text[FilterInPlace]("kind", "kind of filter, `pass_all` or `missing`; null when its scan never ran")(_.outcome.map(_.kind)),
    whole[FilterInPlace]("bytes", "bytes", "memory of the filter on the driver and on each executor")(_.outcome.map(_.filterBytes)),
    whole[FilterInPlace](Outcome("keys").as("build_rows"))(_.outcome.map(_.keys)),
    whole[FilterInPlace](Outcome("rowsIn"))(_.outcome.map(_.rowsIn)),
    whole[FilterInPlace](Outcome("rowsOut"))(_.outcome.map(_.rowsOut)),
    whole[FilterInPlace](Outcome("rowsUnchecked"))(_.outcome.map(_.rowsUnchecked)),
    whole[FilterInPlace](Outcome("filesLeftOut"))(_.outcome.flatMap(_.filesLeftOut)),
    whole[FilterInPlace](Outcome("filesListed"))(_.outcome.flatMap(_.filesListed)),
    whole[FilterInPlace](Outcome("bytesLeftOut"))(_.outcome.flatMap(_.bytesLeftOut)),
    flag[FilterInPlace]("self_disabled", "whether rows passed unchecked")(_.outcome.map(_.rowsUnchecked > 0)),
    whole[FilterInPlace](Outcome("buildMillis"))(_.outcome.map(_.buildMillis)),
    whole[FilterInPlace](Outcome("waitMillis"))(_.outcome.map(_.waitMillis))
  ) ++ reason[FilterInPlace]("reason", "why the filter was placed or not, or why it passed every row")(f =>
    f.outcome.flatMap(_.reason).orElse(f.place.map(_.reason))
  ) ++ reason[FilterInPlace]("files_kept_reason", Outcome("filesKept").doc)(_.outcome.flatMap(_.filesKept))

  val FlipFields: Seq[TableColumn[JoinFlip]] = Seq(
    text[JoinFlip](
      "fact",
      described("the fact", FlipFact.All.map(fact => fact.name -> fact.meaning)) + "; or " +
        oneOf("the conf key of a threshold that refused an option", FlipThreshold.All.map(_.name))
    )(_.fact.name),
    double[JoinFlip](Flip("actual"))(_.actual),
    double[JoinFlip](Flip("value"))(_.value),
    text[JoinFlip](Flip("unit"))(_.unit),
    text[JoinFlip](Flip("choice"))(_.choice.name),
    flag[JoinFlip](Flip("withFilter"))(_.withFilter)
  )

  val All: Seq[TableColumn[DecisionRow]] = query ++ choice ++ facts ++ waiting ++ outcome

  val Schema: StructType = schemaOf(All)

  def row(of: DecisionRow): Row = rowOf(All, of)

  private def query: Seq[TableColumn[DecisionRow]] = Seq(
    column("decided_at", TimestampType, "", "when the decision was recorded")(r => Instant.ofEpochMilli(r.kept.timeMillis)),
    whole("execution_id", "", "Spark's id of the query, as in the SQL tab of its UI")(_.query.executionId),
    text("query_status", described("state of the query", RecentDecisions.Statuses))(_.status),
    text("description", "the first 4096 characters of the query as Spark's UI shows it, redacted by `spark.sql.redaction.string.regex`")(
      _.query.origin.description
    ),
    text("user_name", "value of `current_user()` in the query")(r => nonEmpty(r.query.origin.user)),
    text("session_id", "Spark's id of the session")(_.query.origin.session),
    text("job_group", "the query's job group; for a Thrift Server, the id of the statement")(_.query.origin.jobGroup),
    column(
      "job_tags",
      Texts,
      "",
      "the tags of the query's jobs; Spark Connect puts user, session and operation into one tag"
    )(_.query.origin.jobTags),
    text("mode", oneOf("mode of the plugin", Mode.All.map(_.name)))(_.query.mode.name),
    text(
      "arm",
      described("the query's arm; null without a canary", TrialArm.All.map(arm => arm.name -> arm.meaning))
    )(_.query.arm.map(_.name)),
    whole(Ended("durationMillis").as("query_millis", "null while it runs"))(_.query.end.map(_.durationMillis)),
    whole(Ended("ruleMillis").as("query_rule_millis", "null while it runs"))(_.query.end.map(_.ruleMillis)),
    whole(Ended("errors").as("query_errors", "null while it runs"))(_.query.end.map(_.errors)),
    whole(
      "query_joins",
      "joins",
      "joins decided in the query so far; more than the query's rows when `decisions.keptPerQuery` was reached"
    )(
      _.query.decided
    ),
    text(Facts("joinId").as("join_id", "`spark.aqePlugin.force` takes it"))(_.facts.joinId),
    text(Facts("kind").as("join_type"))(_.facts.kind.name),
    column("join_keys", Texts, "", "the equated columns")(_.facts.keys),
    text(Facts("buildSide"))(_.facts.buildSide.name)
  )

  private def choice: Seq[TableColumn[DecisionRow]] =
    Seq[TableColumn[DecisionRow]](
      text(Decision("choice"))(_.decision.choice.name),
      text(
        "spark_strategy",
        "what Spark would have done by itself, `leave_to_spark` for a method that the plugin does not price"
      )(_.facts.sparkStrategy.name),
      text(Facts("hint"))(_.facts.hint),
      text(Facts("engine"))(_.facts.engine)
    ) ++ reason[DecisionRow]("reason", "why this choice")(r => Some(r.decision.reason)) ++
      Seq[TableColumn[DecisionRow]](flag(Decision("buildFilter").as("with_filter"))(_.decision.buildFilter)) ++
      reason[DecisionRow]("filter_reason", "why they do or do not")(r => Some(r.decision.filterReason)) ++
      Seq[TableColumn[DecisionRow]](
        text(Unforced("choice").as("unforced_choice", OnlyForced))(_.decision.unforced.map(_.choice.name)),
        text("unforced_reason", s"why: stable code; $OnlyForced")(_.decision.unforced.map(_.reason.code.name)),
        flag(Unforced("buildFilter").as("unforced_with_filter", OnlyForced))(_.decision.unforced.map(_.buildFilter)),
        text("unforced_filter_reason", s"why: stable code; $OnlyForced")(_.decision.unforced.map(_.filterReason.code.name)),
        double(Decision("passRate").as("predicted_pass_rate", OfLookedAt))(r => lookedAt(r)(_.passRate)),
        text(Decision("passRateSource"))(_.decision.passRateSource.name),
        double("predicted_cost_millis", "millis", "predicted cost of the choice; null when the join was left to Spark")(
          _.taken.flatMap(_.costMillis)
        ),
        double("predicted_spark_cost_millis", "millis", "predicted cost of Spark's own plan")(_.sparkCostMillis),
        column("options_not_taken", arrayOf(OptionFields), "", "every other option") { r =>
          r.decision.options.filterNot(r.isTaken).map(rowOf(OptionFields, _))
        }
      )

  private def facts: Seq[TableColumn[DecisionRow]] = Seq(
    whole("build_rows", "rows", "rows of the finished build side; null when unknown")(r => known(r.facts.build.rows)),
    whole(Build("stageBytes").as("build_bytes", OfLookedAt))(r => lookedAt(r)(_.facts.build.stageBytes)),
    whole("build_memory_bytes", "bytes", "bytes of the build side's rows in memory; null when unknown")(r =>
      known(r.facts.build.rows).map(_ => r.facts.build.memoryBytes)
    ),
    whole(Build("originRows").as("build_origin_rows", "null when unknown"))(_.facts.build.originRows),
    text("build_origin_rows_source", sources("what `build_origin_rows` was taken from"))(_.facts.build.originRowsSource.map(_.name)),
    whole("build_distinct_keys", "keys", "distinct keys of the build side; null when not counted")(_.facts.build.keys.distinct),
    whole("build_min_key", "", "smallest value of a single integral key, when known")(_.facts.build.keys.min),
    whole("build_max_key", "", "largest value of a single integral key, when known")(_.facts.build.keys.max),
    whole("probe_rows", "rows", "estimated rows of the probe side that reach the join; null when unknown")(r =>
      known(r.facts.probe.rows)
    ),
    text("probe_rows_source", sources("the least sure of what `probe_rows` was taken from"))(_.facts.probe.rowsSource.map(_.name)),
    whole("probe_scan_rows", "rows", "estimated rows of the scans that the keys reach; null when unknown")(r =>
      known(r.facts.probe.scanRows)
    ),
    text("probe_scan_rows_source", sources("the least sure of what `probe_scan_rows` was taken from"))(
      _.facts.probe.scanRowsSource.map(_.name)
    ),
    whole("probe_bytes", "bytes", "estimated bytes in memory of the rows that reach the join")(r =>
      known(r.facts.probe.rows).map(rows => (BigInt(rows) * r.facts.probe.rowBytes.max(0L)).min(Long.MaxValue).toLong)
    ),
    text("facts", "all facts as JSON: the first argument of `aqe_decide(facts, thresholds)`")(r =>
      Json.render(DecisionJson.Facts.write(r.facts))
    )
  )

  private def waiting: Seq[TableColumn[DecisionRow]] = Seq[TableColumn[DecisionRow]](
    flag("waited", "whether the probe side waited for the build side; null when that had finished before it was decided")(r =>
      r.facts.waiting.map(_.hasBegun(r.kept.mode))
    ),
    double(Wait("savingMillis").as("predicted_saving_millis"))(_.facts.waiting.map(_.savingMillis)),
    double(Wait("idleMillis").as("predicted_idle_millis"))(_.facts.waiting.map(_.idleMillis)),
    double(Wait("buildMillis").as("predicted_build_millis"))(_.facts.waiting.map(_.buildMillis)),
    text("wait_outcome", described("null if there was no wait, or its end was not seen", WaitEnd.All.map(end => end.name -> end.meaning)))(
      _.facts.waiting.flatMap(_.outcome).map(_.end.name)
    ),
    double(Wait("waitedMillis"))(_.facts.waiting.flatMap(_.outcome).map(_.millis))
  ) ++ reason[DecisionRow]("wait_reason", "why the probe side waited or not")(_.facts.waiting.map(_.reason))

  private def outcome: Seq[TableColumn[DecisionRow]] = Seq(
    text(
      "filter_status",
      described("null while the query runs and when there was no filter; for several scans, the first of these that occurs", FilterStatuses)
    ) {
      r => r.filters.flatMap(filters => FilterStatuses.map(_._1).find(status => filters.exists(_.status == status)))
    },
    text("filter_kind", "kind of the filter that was applied; null when none was")(
      _.outcomes.flatMap(_.find(o => o.found && o.reason.isEmpty)).map(_.kind)
    ),
    whole("filter_bytes", "bytes", "memory of the filter on the driver and on each executor")(ofRan(_)(_.map(_.filterBytes).max)),
    whole("filter_rows_in", "rows", "rows that the filter checked in all scans; null while the query runs")(ofRan(_)(_.map(_.rowsIn).sum)),
    whole("filter_rows_out", "rows", "checked rows that passed in all scans")(ofRan(_)(_.map(_.rowsOut).sum)),
    whole(Outcome("buildMillis").as("filter_build_millis"))(ofRan(_)(_.map(_.buildMillis).max)),
    whole("filter_wait_millis", "millis", "longest time from the query's start until a scan had its filters")(
      ofRan(_)(_.map(_.waitMillis).max)
    ),
    flag("filter_self_disabled", "whether rows passed unchecked")(
      ofRan(_)(_.exists(_.rowsUnchecked > 0))
    ),
    column("filters", arrayOf(FilterFields), "", "the filter on each scan; null while the query runs")(
      _.filters.map(_.map(rowOf(FilterFields, _)))
    ),
    double(Saving("elapsedMillis").as("saved_millis", "null also while the query runs and where the join is as Spark's"))(
      _.saving.flatMap(_.elapsedMillis)
    ),
    double(Saving("processorMillis").as("saved_processor_millis"))(_.saving.flatMap(_.processorMillis)),
    column(
      "flip_points",
      arrayOf(FlipFields),
      "",
      "where the decision changes if one fact or threshold changes alone, the nearest first; null while the query runs"
    )(_.flips.map(_.map(rowOf(FlipFields, _)))),
    text(
      "events",
      "the join's `decision`, `filters`, `outcomes`, `flips` and `saving` as JSON, each as in the plugin's events, which have the flip points of few joins of a short query; the last three only of a query that has ended"
    ) {
      r => Json.render(eventsOf(r))
    }
  )

  private def eventsOf(row: DecisionRow): ObjectNode = {
    val node = Json.Nodes.objectNode()
    node.set[ObjectNode]("decision", DecisionJson.write(row.decision))
    node.set[ObjectNode]("filters", Json.array(row.kept.filters.map(EventSchema.Placed.write)))
    node.set[ObjectNode]("outcomes", Json.array(row.outcomes.toSeq.flatten.map(EventSchema.Outcome.write)))
    node.set[ObjectNode]("flips", Json.array(row.flips.toSeq.flatten.map(EventSchema.Flip.write)))
    row.saving.fold(node)(saving => node.set[ObjectNode]("saving", EventSchema.Saving.write(saving)))
  }

  private def ofRan[A](row: DecisionRow)(of: Seq[FilterOutcome] => A): Option[A] = row.outcomes.filter(_.nonEmpty).map(of)

  private def either[A](filter: FilterInPlace)(ofPlace: PlacedFilter => A, ofOutcome: FilterOutcome => A): Option[A] =
    filter.place.map(ofPlace).orElse(filter.outcome.map(ofOutcome))

  private def lookedAt[A](row: DecisionRow)(of: JoinDecision => A): Option[A] =
    Option.when(row.facts.look.isEmpty)(of(row.decision))

  private def known(count: Long): Option[Long] = Some(count).filter(_ >= 0)

  private def sources(doc: String): String = oneOf(doc, EstimateSource.All.map(_.name))
}
