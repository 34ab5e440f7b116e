package io.aqeplugin.tell

import java.time.Instant
import java.util.Locale

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.Row
import org.apache.spark.sql.types._

import io.aqeplugin.conf.{Mode, TrialArm}
import io.aqeplugin.decide._
import io.aqeplugin.observe.{FilterOutcome, PlacedFilter}

/** One column, or one field of a struct.
  *
  * @param unit
  *   unit of a number, empty for anything else
  * @param of
  *   the value; `None` is null
  */
final case class DecisionColumn[A](name: String, dataType: DataType, unit: String, doc: String, of: A => Any)

/** One row: a decision with its query. */
final case class DecisionRow(query: KeptQuery, status: String, kept: KeptDecision) {
  def decision: JoinDecision = kept.decision
  def facts: JoinFacts = decision.facts

  /** The chosen option; none when the join was left to Spark. */
  def taken: Option[WeighedOption] = decision.options.find(isTaken)

  def isTaken(weighed: WeighedOption): Boolean = decision.taken.contains(weighed.option)

  /** The price of Spark's own plan. */
  def sparkCostMillis: Option[Double] =
    JoinOption.of(facts.sparkStrategy, withFilter = false).flatMap(spark => decision.options.find(_.option == spark)).flatMap(_.costMillis)

  /** The filters of the join in every place, those that ran first; none until the query has ended. */
  def filters: Option[Seq[FilterInPlace]] = query.end.map { end =>
    val ran = end.outcomes.filter(_.joinId == facts.joinId)
    val places = kept.filters.map(place => place.filterId -> place).toMap
    val ids = ran.iterator.map(_.filterId).toSet
    ran.map(outcome => FilterInPlace(places.get(outcome.filterId), Some(outcome))) ++
      kept.filters.filterNot(place => ids(place.filterId)).map(place => FilterInPlace(Some(place), None))
  }

  /** The filters that ran. */
  def outcomes: Option[Seq[FilterOutcome]] = filters.map(_.flatMap(_.outcome))
}

/** One filter in one place: its placement and its outcome. At least one of the two is known. */
final case class FilterInPlace(place: Option[PlacedFilter], outcome: Option[FilterOutcome]) {
  def status: String = (outcome, place) match {
    case (Some(o), _) if !o.found           => "missing"
    case (Some(o), _) if o.reason.isDefined => "passed_all"
    case (Some(_), _)                       => "applied"
    case (None, Some(p)) if p.applied       => "not_started"
    case _                                  => "not_placed"
  }
}

/** The columns of `aqe_decisions()`: names, types, units and meaning. `docs/decisions-table.md` is generated from them. */
object DecisionColumns {

  val FilterStatuses: Seq[(String, String)] = Seq(
    "missing" -> "a fault: the scan did not find the filter that it waited for",
    "applied" -> "the scan's rows were checked",
    "passed_all" -> "no filter was built, so every row passed; the reason says why",
    "not_started" -> "the filter was in a plan, but did not run there: its scan never ran, or ran before the filter was ready",
    "not_placed" -> "the filter was not put into the plan; the reason says why"
  )

  private val Texts = ArrayType(StringType, containsNull = false)

  private val ReasonFields: Seq[DecisionColumn[Reason]] = Seq(
    text("code", "stable code")(_.code.name),
    double("measured", "see `unit`", "the value that was compared with the limit")(_.measured),
    double("limit", "see `unit`", "the limit")(_.limit),
    text("unit", "unit of both numbers; null without numbers")(r => nonEmpty(r.unit)),
    text("conf_key", "the conf key that sets the limit; null when none does")(r => nonEmpty(r.confKey))
  )

  val OptionFields: Seq[DecisionColumn[WeighedOption]] = Seq(
    text[WeighedOption]("strategy", oneOf("the join strategy", Strategy.All.map(_.name)))(_.option.strategy.name),
    flag[WeighedOption]("with_filter", "whether the probe side's scans have a filter")(_.option.withFilter),
    double[WeighedOption]("cost_millis", "millis", "predicted cost; null when the option was ruled out before it was priced")(_.costMillis)
  ) ++ reason[WeighedOption]("reason", "why the option was not taken")(o => Some(o.reason))

  val FilterFields: Seq[DecisionColumn[FilterInPlace]] = Seq(
    text[FilterInPlace]("filter_id", "identifies one filter in one place, on a scan or in front of an exchange")(f =>
      either(f)(_.filterId, _.filterId)
    ),
    text[FilterInPlace]("table", EventSchema.FilterPlaces)(f => either(f)(_.table, _.table)),
    column[FilterInPlace]("columns", Texts, "", "the checked columns")(f => either(f)(_.scanColumns, _.scanColumns)),
    text[FilterInPlace]("status", described("result of the filter", FilterStatuses))(_.status),
    text[FilterInPlace]("kind", "kind of filter, `pass_all` or `missing`; null when its scan never ran")(_.outcome.map(_.kind)),
    whole[FilterInPlace]("bytes", "bytes", "memory of the filter on the driver and on each executor")(_.outcome.map(_.filterBytes)),
    whole[FilterInPlace]("build_rows", "rows", "build rows with a key")(_.outcome.map(_.keys)),
    whole[FilterInPlace]("rows_in", "rows", "rows that the filter checked")(_.outcome.map(_.rowsIn)),
    whole[FilterInPlace]("rows_out", "rows", "checked rows that passed")(_.outcome.map(_.rowsOut)),
    whole[FilterInPlace](
      "rows_unchecked",
      "rows",
      "rows that passed unchecked while the filter was paused because it removed too few rows"
    )(
      _.outcome.map(_.rowsUnchecked)
    ),
    flag[FilterInPlace]("self_disabled", "whether a task paused the filter")(_.outcome.map(_.rowsUnchecked > 0)),
    whole[FilterInPlace]("build_millis", "millis", "duration of the filter build")(_.outcome.map(_.buildMillis)),
    whole[FilterInPlace]("wait_millis", "millis", "time that the scan's start waited for its filters")(_.outcome.map(_.waitMillis))
  ) ++ reason[FilterInPlace]("reason", "why the filter was placed or not, or why it passed every row")(f =>
    f.outcome.flatMap(_.reason).orElse(f.place.map(_.reason))
  )

  val FlipFields: Seq[DecisionColumn[FlipPoint]] = Seq(
    text[FlipPoint]("fact", described("the fact", FlipFact.All.map(fact => fact.name -> fact.meaning)))(_.fact.name),
    whole[FlipPoint]("actual", "see `unit`", "the value in the decision")(_.actual),
    whole[FlipPoint]("value", "see `unit`", "the nearest value with another decision, at most 1 % off")(_.value),
    text[FlipPoint]("unit", "unit of both values")(_.fact.unit),
    text[FlipPoint]("choice", oneOf("the decision there", Strategy.All.map(_.name)))(_.choice.name),
    flag[FlipPoint]("with_filter", "whether it has a filter")(_.withFilter)
  )

  val All: Seq[DecisionColumn[DecisionRow]] = query ++ choice ++ facts ++ waiting ++ outcome

  val Schema: StructType = schemaOf(All)

  def row(of: DecisionRow): Row = rowOf(All, of)

  private def query: Seq[DecisionColumn[DecisionRow]] = Seq(
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
    whole("query_millis", "millis", "elapsed time of the query; null while it runs")(_.query.end.map(_.durationMillis)),
    whole(
      "query_rule_millis",
      "millis",
      "time that the query spent in the plugin's rules; null while it runs"
    )(_.query.end.map(_.ruleMillis)),
    whole("query_errors", "errors", "faults of the plugin in the query, after which Spark's own plan ran; null while it runs")(
      _.query.end.map(_.errors)
    ),
    whole(
      "query_joins",
      "joins",
      "joins decided in the query so far; more than the query's rows when `decisions.keptPerQuery` was reached"
    )(
      _.query.decided
    ),
    text(
      "join_id",
      "identifies the join in its query, in every run that Spark plans alike; `spark.aqePlugin.force` takes it"
    )(_.facts.joinId),
    text("join_type", oneOf("how the join combines its sides", JoinKind.All.map(_.name)))(_.facts.kind.name),
    column("join_keys", Texts, "", "the equated columns")(_.facts.keys),
    text("build_side", "the side that finishes first, `left` or `right`")(_.facts.buildSide.name)
  )

  private def choice: Seq[DecisionColumn[DecisionRow]] =
    Seq[DecisionColumn[DecisionRow]](
      text("choice", oneOf("the decision", Strategy.All.map(_.name)))(_.decision.choice.name),
      text("spark_strategy", "what Spark would have done by itself")(_.facts.sparkStrategy.name),
      text("hint", "the user's own join hint")(_.facts.hint)
    ) ++ reason[DecisionRow]("reason", "why this choice")(r => Some(r.decision.reason)) ++
      Seq[DecisionColumn[DecisionRow]](flag("with_filter", "whether the build side's keys become a filter in the probe side's scans")(
        _.decision.buildFilter
      )) ++
      reason[DecisionRow]("filter_reason", "why they do or do not")(r => Some(r.decision.filterReason)) ++
      Seq[DecisionColumn[DecisionRow]](
        double("predicted_pass_rate", "ratio", "estimated share of the probe rows that a filter lets through")(_.decision.passRate),
        text(
          "pass_rate_source",
          oneOf("what that share was estimated from", PassRateSource.All.map(_.name))
        )(_.decision.passRateSource.name),
        double("predicted_cost_millis", "millis", "predicted cost of the choice; null when the join was left to Spark")(
          _.taken.flatMap(_.costMillis)
        ),
        double("predicted_spark_cost_millis", "millis", "predicted cost of Spark's own plan")(_.sparkCostMillis),
        column("options_not_taken", arrayOf(OptionFields), "", "every other option") { r =>
          r.decision.options.filterNot(r.isTaken).map(rowOf(OptionFields, _))
        }
      )

  private def facts: Seq[DecisionColumn[DecisionRow]] = Seq(
    whole("build_rows", "rows", "rows of the finished build side; null when unknown")(r => known(r.facts.build.rows)),
    whole("build_bytes", "bytes", "bytes that the build side's stage wrote, compressed for a shuffle")(_.facts.build.stageBytes),
    whole("build_memory_bytes", "bytes", "bytes of the build side's rows in memory")(_.facts.build.memoryBytes),
    whole(
      "build_origin_rows",
      "rows",
      "rows of the table that the build side's keys come from, before its filters and joins; null when unknown"
    )(_.facts.build.originRows),
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
      DecisionJson.render(DecisionJson.writeFacts(r.facts))
    )
  )

  private def waiting: Seq[DecisionColumn[DecisionRow]] = Seq[DecisionColumn[DecisionRow]](
    flag("waited", "whether the probe side waited until the build side had finished; null when that had finished before it was decided")(
      _.facts.waiting.map(_.waits)
    ),
    double("predicted_saving_millis", "millis", "estimated elapsed time that the finished build side saves")(
      _.facts.waiting.map(_.savingMillis)
    ),
    double("predicted_idle_millis", "millis", "estimated elapsed time for which the wait leaves slots idle")(
      _.facts.waiting.map(_.idleMillis)
    ),
    double("predicted_build_millis", "millis", "estimated elapsed time that the build side takes")(_.facts.waiting.map(_.buildMillis)),
    text("wait_outcome", described("null if there was no wait, or its end was not seen", WaitEnd.All.map(end => end.name -> end.meaning)))(
      _.facts.waiting.flatMap(_.outcome).map(_.end.name)
    ),
    double("waited_millis", "millis", "how long the wait lasted")(_.facts.waiting.flatMap(_.outcome).map(_.millis))
  ) ++ reason[DecisionRow]("wait_reason", "why the probe side waited or not")(_.facts.waiting.map(_.reason))

  private def outcome: Seq[DecisionColumn[DecisionRow]] = Seq(
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
    whole("filter_build_millis", "millis", "duration of the filter build")(ofRan(_)(_.map(_.buildMillis).max)),
    whole("filter_wait_millis", "millis", "longest time that the start of a scan waited for its filters")(
      ofRan(_)(_.map(_.waitMillis).max)
    ),
    flag("filter_self_disabled", "whether a task paused the filter because it removed too few rows")(
      ofRan(_)(_.exists(_.rowsUnchecked > 0))
    ),
    column("filters", arrayOf(FilterFields), "", "the filter on each scan; null while the query runs")(
      _.filters.map(_.map(rowOf(FilterFields, _)))
    ),
    column(
      "flip_points",
      arrayOf(FlipFields),
      "",
      "where the decision changes if one fact changes alone, the nearest first; null while the query runs"
    )(r => r.query.end.map(_.flips.filter(_.joinId == r.facts.joinId).map(flip => rowOf(FlipFields, flip.point)))),
    text(
      "events",
      "the join's `decision`, `filters`, `outcomes` and `flips` as JSON, each as in the plugin's events; no outcomes and flips while the query runs"
    ) {
      r => DecisionJson.render(eventsOf(r))
    }
  )

  private def eventsOf(row: DecisionRow): ObjectNode = {
    val outcomes = row.query.end.toSeq.flatMap(_.outcomes).filter(_.joinId == row.facts.joinId)
    val node = JsonFields.emptyObject
    node.set[ObjectNode]("decision", DecisionJson.write(row.decision))
    node.set[ObjectNode]("filters", FilterJson.writePlaced(row.kept.filters))
    node.set[ObjectNode]("outcomes", FilterJson.writeOutcomes(outcomes))
    node.set[ObjectNode]("flips", FlipJson.write(row.query.end.toSeq.flatMap(_.flips).filter(_.joinId == row.facts.joinId)))
  }

  private[tell] def column[A](name: String, dataType: DataType, unit: String, doc: String)(of: A => Any): DecisionColumn[A] =
    DecisionColumn(name, dataType, unit, doc, of)

  private[tell] def text[A](name: String, doc: String)(of: A => Any): DecisionColumn[A] = DecisionColumn(name, StringType, "", doc, of)
  private[tell] def flag[A](name: String, doc: String)(of: A => Any): DecisionColumn[A] = DecisionColumn(name, BooleanType, "", doc, of)

  private[tell] def whole[A](name: String, unit: String, doc: String)(of: A => Any): DecisionColumn[A] =
    DecisionColumn(name, LongType, unit, doc, of)

  // A column that is a field of an event has its name, in SQL's spelling, its unit and its meaning.
  private[tell] def text[A](field: FieldSchema)(of: A => Any): DecisionColumn[A] =
    text(columnName(field), if (field.values.isEmpty) field.doc else oneOf(field.doc, field.values))(of)
  private[tell] def flag[A](field: FieldSchema)(of: A => Any): DecisionColumn[A] = flag(columnName(field), field.doc)(of)
  private[tell] def whole[A](field: FieldSchema)(of: A => Any): DecisionColumn[A] = whole(columnName(field), field.unit, field.doc)(of)

  private def columnName(field: FieldSchema): String = field.name.replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT)

  private def double[A](name: String, unit: String, doc: String)(of: A => Any): DecisionColumn[A] =
    DecisionColumn(name, DoubleType, unit, doc, of)

  /** A reason as several columns, the first of which is its code. */
  private[tell] def reason[A](name: String, doc: String)(of: A => Option[Reason]): Seq[DecisionColumn[A]] = ReasonFields.map { field =>
    if (field.name == "code") DecisionColumn[A](name, field.dataType, field.unit, s"$doc: stable code", of(_).map(field.of))
    else {
      val unit = if (field.unit.isEmpty) "" else s"see `${name}_unit`"
      DecisionColumn[A](s"${name}_${field.name}", field.dataType, unit, s"of `$name`: ${field.doc}", of(_).map(field.of))
    }
  }

  private def arrayOf[A](fields: Seq[DecisionColumn[A]]): ArrayType = ArrayType(schemaOf(fields), containsNull = false)

  private[tell] def schemaOf[A](fields: Seq[DecisionColumn[A]]): StructType =
    StructType(fields.map(field => StructField(field.name, field.dataType).withComment(field.doc)))

  private[tell] def rowOf[A](fields: Seq[DecisionColumn[A]], of: A): Row = Row.fromSeq(fields.map(field => plain(field.of(of))))

  /** Flattens nested options into one. */
  private def plain(value: Any): Any = value match {
    case Some(inner: Option[_]) => plain(inner)
    case other                  => other
  }

  private def ofRan[A](row: DecisionRow)(of: Seq[FilterOutcome] => A): Option[A] = row.outcomes.filter(_.nonEmpty).map(of)

  private def either[A](filter: FilterInPlace)(ofPlace: PlacedFilter => A, ofOutcome: FilterOutcome => A): Option[A] =
    filter.place.map(ofPlace).orElse(filter.outcome.map(ofOutcome))

  private def known(count: Long): Option[Long] = Some(count).filter(_ >= 0)
  private[tell] def nonEmpty(text: String): Option[String] = Some(text).filter(_.nonEmpty)

  private[tell] def oneOf(doc: String, names: Seq[String]): String = s"$doc: ${names.map(name => s"`$name`").mkString(", ")}"

  private def sources(doc: String): String = oneOf(doc, EstimateSource.All.map(_.name))

  private def described(doc: String, names: Seq[(String, String)]): String =
    s"$doc: ${names.map { case (name, meaning) => s"`$name` ($meaning)" }.mkString(", ")}"
}
