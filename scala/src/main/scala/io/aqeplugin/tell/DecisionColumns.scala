package io.aqeplugin.tell

import java.time.Instant

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
  *   its value; `None` is null
  */
final case class DecisionColumn[A](name: String, dataType: DataType, unit: String, doc: String, of: A => Any)

/** One row: a decision, the query it belongs to, and how far that query is. */
final case class DecisionRow(query: KeptQuery, status: String, kept: KeptDecision) {
  def decision: JoinDecision = kept.decision
  def facts: JoinFacts = decision.facts

  /** The option that was taken; none when the join was left to Spark. */
  def taken: Option[WeighedOption] = decision.options.find(isTaken)

  def isTaken(weighed: WeighedOption): Boolean = decision.taken.contains(weighed.option)

  /** The price of what Spark would have done by itself. */
  def sparkCostMillis: Option[Double] =
    JoinOption.of(facts.sparkStrategy, withFilter = false).flatMap(spark => decision.options.find(_.option == spark)).flatMap(_.costMillis)

  /** Once the query has ended: every filter of the join on every scan, those that ran first. */
  def filters: Option[Seq[FilterOnScan]] = query.end.map { end =>
    val ran = end.outcomes.filter(_.joinId == facts.joinId)
    val places = kept.filters.map(place => place.filterId -> place).toMap
    val ids = ran.iterator.map(_.filterId).toSet
    ran.map(outcome => FilterOnScan(places.get(outcome.filterId), Some(outcome))) ++
      kept.filters.filterNot(place => ids(place.filterId)).map(place => FilterOnScan(Some(place), None))
  }

  /** Those that ran. */
  def outcomes: Option[Seq[FilterOutcome]] = filters.map(_.flatMap(_.outcome))
}

/** One filter on one scan: where it was put, and what it did there. One of the two is always known. */
final case class FilterOnScan(place: Option[PlacedFilter], outcome: Option[FilterOutcome]) {
  def status: String = (outcome, place) match {
    case (Some(o), _) if !o.found           => "missing"
    case (Some(o), _) if o.reason.isDefined => "passed_all"
    case (Some(_), _)                       => "applied"
    case (None, Some(p)) if p.applied       => "not_started"
    case _                                  => "not_placed"
  }
}

/** The columns of `aqe_decisions()`: names, types, units and meaning, once. `docs/decisions-table.md` is generated from them. */
object DecisionColumns {

  val FilterStatuses: Seq[(String, String)] = Seq(
    "missing" -> "the scan waited for it and did not find it: a fault",
    "applied" -> "the scan's rows were checked",
    "passed_all" -> "none was built, so every row passed; its reason says why",
    "not_started" -> "it was in the plan, and its scan never ran",
    "not_placed" -> "it was not put into the plan; its reason says why"
  )

  private val Texts = ArrayType(StringType, containsNull = false)

  private val ReasonFields: Seq[DecisionColumn[Reason]] = Seq(
    text("code", "stable code")(_.code.name),
    double("measured", "as `unit` says", "the value that was looked at")(_.measured),
    double("limit", "as `unit` says", "what it was held against")(_.limit),
    text("unit", "unit of both; null when there is no number")(r => nonEmpty(r.unit)),
    text("conf_key", "the conf key that moves the limit; null when none does")(r => nonEmpty(r.confKey))
  )

  val OptionFields: Seq[DecisionColumn[WeighedOption]] = Seq(
    text[WeighedOption]("strategy", oneOf("how the join would be done", Strategy.All.map(_.name)))(_.option.strategy.name),
    flag[WeighedOption]("with_filter", "whether with a filter on the probe side's scans")(_.option.withFilter),
    double[WeighedOption]("cost_millis", "millis", "predicted cost; null when it was ruled out before it was priced")(_.costMillis)
  ) ++ reason[WeighedOption]("reason", "why it was not taken")(o => Some(o.reason))

  val FilterFields: Seq[DecisionColumn[FilterOnScan]] = Seq(
    text[FilterOnScan]("filter_id", "the same for one filter on one scan")(f => either(f)(_.filterId, _.filterId)),
    text[FilterOnScan]("table", "the table that is scanned")(f => either(f)(_.table, _.table)),
    column[FilterOnScan]("columns", Texts, "", "the columns that are checked")(f => either(f)(_.scanColumns, _.scanColumns)),
    text[FilterOnScan]("status", described("what became of it", FilterStatuses))(_.status),
    text[FilterOnScan]("kind", "kind of filter, `pass_all` or `missing`; null when its scan never ran")(_.outcome.map(_.kind)),
    whole[FilterOnScan]("bytes", "bytes", "memory that it takes on the driver and on each executor")(_.outcome.map(_.filterBytes)),
    whole[FilterOnScan]("build_rows", "rows", "build rows with a key")(_.outcome.map(_.keys)),
    whole[FilterOnScan]("rows_in", "rows", "rows that it checked")(_.outcome.map(_.rowsIn)),
    whole[FilterOnScan]("rows_out", "rows", "rows that it let through")(_.outcome.map(_.rowsOut)),
    whole[FilterOnScan]("batches_not_checked", "batches", "batches that passed while it rested because it had removed too little")(
      _.outcome.map(_.batchesSkipped)
    ),
    flag[FilterOnScan]("self_disabled", "whether it rested in some task")(_.outcome.map(_.batchesSkipped > 0)),
    whole[FilterOnScan]("build_millis", "millis", "time its build took")(_.outcome.map(_.buildMillis)),
    whole[FilterOnScan]("wait_millis", "millis", "time that the scan's start was held up for its filters")(_.outcome.map(_.waitMillis))
  ) ++ reason[FilterOnScan]("reason", "why it was placed or not; when it passed every row, why")(f =>
    f.outcome.flatMap(_.reason).orElse(f.place.map(_.reason))
  )

  val All: Seq[DecisionColumn[DecisionRow]] = query ++ choice ++ facts ++ waiting ++ outcome

  val Schema: StructType = schemaOf(All)

  def row(of: DecisionRow): Row = rowOf(All, of)

  private def query: Seq[DecisionColumn[DecisionRow]] = Seq(
    column("decided_at", TimestampType, "", "when the decision was written down")(r => Instant.ofEpochMilli(r.kept.timeMillis)),
    whole("execution_id", "", "Spark's id of the query, as in the SQL tab of its UI")(_.query.executionId),
    text("query_status", described("how far the query is", RecentDecisions.Statuses))(_.status),
    text("description", "the query as Spark's UI shows it, redacted as `spark.sql.redaction.string.regex` says, its first 4096 characters")(
      _.query.origin.description
    ),
    text("user_name", "what `current_user()` is in the query")(r => nonEmpty(r.query.origin.user)),
    text("session_id", "Spark's own id of the session")(_.query.origin.session),
    text("job_group", "the group of jobs it belongs to; from a Thrift Server the id of the statement")(_.query.origin.jobGroup),
    column("job_tags", Texts, "", "the tags of its jobs; Spark Connect names user, session and operation in one")(_.query.origin.jobTags),
    text("mode", oneOf("how far the plugin went", Mode.All.map(_.name)))(_.query.mode.name),
    text(
      "arm",
      described("the side of a trial that the query is on, null when nothing is tried", TrialArm.All.map(arm => arm.name -> arm.meaning))
    )(_.query.arm.map(_.name)),
    whole("query_millis", "millis", "wall time of the query; null while it runs")(_.query.end.map(_.durationMillis)),
    whole("query_rule_millis", "millis", "time it spent in the plugin's rules; null while it runs")(_.query.end.map(_.ruleMillis)),
    whole("query_errors", "errors", "faults of the plugin in the query, which left Spark's own plan in force; null while it runs")(
      _.query.end.map(_.errors)
    ),
    whole("query_joins", "joins", "joins decided in the query so far; more than its rows when `decisions.keptPerQuery` was reached")(
      _.query.decided
    ),
    text("join_id", "the same for one join through all re-plans of one query")(_.facts.joinId),
    text("join_type", oneOf("how the join combines its sides", JoinKind.All.map(_.name)))(_.facts.kind.name),
    column("join_keys", Texts, "", "what is equated")(_.facts.keys),
    text("build_side", "the side that is done first, `left` or `right`")(_.facts.buildSide.name)
  )

  private def choice: Seq[DecisionColumn[DecisionRow]] =
    Seq[DecisionColumn[DecisionRow]](
      text("choice", oneOf("what was decided", Strategy.All.map(_.name)))(_.decision.choice.name),
      text("spark_strategy", "what Spark would have done by itself")(_.facts.sparkStrategy.name),
      text("hint", "the user's own join hint")(_.facts.hint)
    ) ++ reason[DecisionRow]("reason", "why that choice")(r => Some(r.decision.reason)) ++
      Seq[DecisionColumn[DecisionRow]](flag("with_filter", "whether the build side's keys become a filter in the probe side's scans")(
        _.decision.buildFilter
      )) ++
      reason[DecisionRow]("filter_reason", "why they do, or do not")(r => Some(r.decision.filterReason)) ++
      Seq[DecisionColumn[DecisionRow]](
        double("predicted_pass_rate", "ratio", "share of the probe rows that a filter was expected to let through")(_.decision.passRate),
        double("predicted_cost_millis", "millis", "predicted cost of what was decided; null when the join was left to Spark")(
          _.taken.flatMap(_.costMillis)
        ),
        double("predicted_spark_cost_millis", "millis", "predicted cost of what Spark would have done by itself")(_.sparkCostMillis),
        column("options_not_taken", arrayOf(OptionFields), "", "every other option that was weighed") { r =>
          r.decision.options.filterNot(r.isTaken).map(rowOf(OptionFields, _))
        }
      )

  private def facts: Seq[DecisionColumn[DecisionRow]] = Seq(
    whole("build_rows", "rows", "rows of the finished build side; null when not known")(r => known(r.facts.build.rows)),
    whole("build_bytes", "bytes", "bytes that its stage wrote, compressed for a shuffle")(_.facts.build.stageBytes),
    whole("build_memory_bytes", "bytes", "bytes of its rows in memory")(_.facts.build.memoryBytes),
    whole("build_distinct_keys", "keys", "its distinct keys; null when nobody counted them")(_.facts.build.keys.distinct),
    whole("build_min_key", "", "smallest value of a single integral key, when known")(_.facts.build.keys.min),
    whole("build_max_key", "", "largest value of a single integral key, when known")(_.facts.build.keys.max),
    whole("probe_rows", "rows", "rows of the probe side that reach the join, as estimated; null when not known")(r =>
      known(r.facts.probe.rows)
    ),
    whole("probe_scan_rows", "rows", "rows of the scans that the keys reach, as estimated; null when not known")(r =>
      known(r.facts.probe.scanRows)
    ),
    whole("probe_bytes", "bytes", "bytes in memory of the rows that reach the join, as estimated")(r =>
      known(r.facts.probe.rows).map(rows => (BigInt(rows) * r.facts.probe.rowBytes.max(0L)).min(Long.MaxValue).toLong)
    ),
    text("facts", "everything that was known, as JSON: the first argument of `aqe_decide(facts, thresholds)`")(r =>
      DecisionJson.render(DecisionJson.writeFacts(r.facts))
    )
  )

  private def waiting: Seq[DecisionColumn[DecisionRow]] = Seq[DecisionColumn[DecisionRow]](
    flag("waited", "whether the probe side was held back; null when the build side was done before anything was weighed")(
      _.facts.waiting.map(_.waits)
    ),
    double("predicted_saving_millis", "millis", "elapsed time that the finished build side was expected to save")(
      _.facts.waiting.map(_.savingMillis)
    ),
    double("predicted_idle_millis", "millis", "elapsed time that slots were expected to stand idle for it")(
      _.facts.waiting.map(_.idleMillis)
    )
  ) ++ reason[DecisionRow]("wait_reason", "why it was held back, or not")(_.facts.waiting.map(_.reason))

  private def outcome: Seq[DecisionColumn[DecisionRow]] = Seq(
    text(
      "filter_status",
      described("null while the query runs and when there was no filter; of several scans the first of", FilterStatuses)
    ) {
      r => r.filters.flatMap(filters => FilterStatuses.map(_._1).find(status => filters.exists(_.status == status)))
    },
    text("filter_kind", "kind of the filter that was applied; null when none was")(
      _.outcomes.flatMap(_.find(o => o.found && o.reason.isEmpty)).map(_.kind)
    ),
    whole("filter_bytes", "bytes", "memory that it takes on the driver and on each executor")(ofRan(_)(_.map(_.filterBytes).max)),
    whole("filter_rows_in", "rows", "rows that it checked, in all scans; null while the query runs")(ofRan(_)(_.map(_.rowsIn).sum)),
    whole("filter_rows_out", "rows", "rows that it let through, in all scans")(ofRan(_)(_.map(_.rowsOut).sum)),
    whole("filter_build_millis", "millis", "time its build took")(ofRan(_)(_.map(_.buildMillis).max)),
    whole("filter_wait_millis", "millis", "longest time that the start of a scan was held up for its filters")(
      ofRan(_)(_.map(_.waitMillis).max)
    ),
    flag("filter_self_disabled", "whether it rested in some task because it had removed too little")(
      ofRan(_)(_.exists(_.batchesSkipped > 0))
    ),
    column("filters", arrayOf(FilterFields), "", "the filter on each scan; null while the query runs")(
      _.filters.map(_.map(rowOf(FilterFields, _)))
    )
  )

  private def column[A](name: String, dataType: DataType, unit: String, doc: String)(of: A => Any): DecisionColumn[A] =
    DecisionColumn(name, dataType, unit, doc, of)

  private def text[A](name: String, doc: String)(of: A => Any): DecisionColumn[A] = DecisionColumn(name, StringType, "", doc, of)
  private def flag[A](name: String, doc: String)(of: A => Any): DecisionColumn[A] = DecisionColumn(name, BooleanType, "", doc, of)

  private def whole[A](name: String, unit: String, doc: String)(of: A => Any): DecisionColumn[A] =
    DecisionColumn(name, LongType, unit, doc, of)

  private def double[A](name: String, unit: String, doc: String)(of: A => Any): DecisionColumn[A] =
    DecisionColumn(name, DoubleType, unit, doc, of)

  /** A reason as columns of its own, the first of which is its code. */
  private def reason[A](name: String, doc: String)(of: A => Option[Reason]): Seq[DecisionColumn[A]] = ReasonFields.map { field =>
    if (field.name == "code") DecisionColumn[A](name, field.dataType, field.unit, s"$doc: its stable code", of(_).map(field.of))
    else {
      val unit = if (field.unit.isEmpty) "" else s"as `${name}_unit` says"
      DecisionColumn[A](s"${name}_${field.name}", field.dataType, unit, s"of `$name`: ${field.doc}", of(_).map(field.of))
    }
  }

  private def arrayOf[A](fields: Seq[DecisionColumn[A]]): ArrayType = ArrayType(schemaOf(fields), containsNull = false)

  private def schemaOf[A](fields: Seq[DecisionColumn[A]]): StructType =
    StructType(fields.map(field => StructField(field.name, field.dataType).withComment(field.doc)))

  private def rowOf[A](fields: Seq[DecisionColumn[A]], of: A): Row = Row.fromSeq(fields.map(field => plain(field.of(of))))

  /** Options that lie in each other as one. */
  private def plain(value: Any): Any = value match {
    case Some(inner: Option[_]) => plain(inner)
    case other                  => other
  }

  private def ofRan[A](row: DecisionRow)(of: Seq[FilterOutcome] => A): Option[A] = row.outcomes.filter(_.nonEmpty).map(of)

  private def either[A](filter: FilterOnScan)(ofPlace: PlacedFilter => A, ofOutcome: FilterOutcome => A): Option[A] =
    filter.place.map(ofPlace).orElse(filter.outcome.map(ofOutcome))

  private def known(count: Long): Option[Long] = Some(count).filter(_ >= 0)
  private def nonEmpty(text: String): Option[String] = Some(text).filter(_.nonEmpty)

  private def oneOf(doc: String, names: Seq[String]): String = s"$doc: ${names.map(name => s"`$name`").mkString(", ")}"

  private def described(doc: String, names: Seq[(String, String)]): String =
    s"$doc: ${names.map { case (name, meaning) => s"`$name` ($meaning)" }.mkString(", ")}"
}
