package io.aqeplugin.tell.ui

import scala.xml.Node

import org.apache.spark.ui.aqeplugin.Formats

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide._
import io.aqeplugin.limit.LimitChoice
import io.aqeplugin.observe.{FilterOutcome, PlacedFilter}
import io.aqeplugin.tell.Quantity
import io.aqeplugin.tell.ui.Html._

/** The page of one query: each join with its options, reasons, and the outcomes of its filters; the query's limits and inferred predicates. */
object QueryView {

  final case class Model(story: QueryStory, execution: Option[Execution])

  /** The page, or the reason why there is none. */
  def render(model: Either[String, Model], links: Links): Seq[Node] = model match {
    case Left(why)    => alert(why) :+ link(links.queries(1), "All queries")
    case Right(known) =>
      val QueryStory(query, joins, limits, predicates) = known.story
      Seq(summary(known, links)) ++
        joins.flatMap(join) ++ dropped("joins", query.joins, joins.size) ++
        limitTable(limits) ++ dropped("limits", query.limits, limits.size) ++
        predicateTable(predicates) ++ dropped("predicates", query.predicates, predicates.size)
  }

  private def dropped(what: String, all: Int, kept: Int): Seq[Node] =
    if (all > kept) alert(s"The query has ${all - kept} more $what; the first $kept are kept.") else Nil

  private def summary(model: Model, links: Links): Node = {
    val query = model.story.query
    val sums = query.filters
    val described = model.execution.toSeq.flatMap { execution =>
      Seq(
        "SQL" -> Seq(
          link(links.execution(query.executionId), s"execution ${query.executionId}"),
          text(s", ${execution.status.toLowerCase}")
        ),
        "Description" -> Seq(text(cut(execution.description, MaxDescription))),
        "Submitted" -> Seq(text(Formats.date(execution.submittedMillis)))
      )
    }
    val arm = query.arm.map(arm => "Arm" -> Seq(text(arm)))
    val decided = Seq("Mode" -> Seq(text(query.mode))) ++ arm ++ Seq("Joins" -> Seq(text(Words.choices(query.choices))))
    val done =
      if (!query.ended) Seq("Duration" -> Seq(text("running; the outcomes of the filters are known when the query has ended")))
      else
        Seq(
          "Duration" -> Seq(text(s"${Formats.duration(query.durationMillis)}, of which the plugin's rules took " +
            Quantity.of(query.ruleMillis, "millis"))),
          "Filters" -> Seq(text(s"${sums.applied} of ${sums.planned} applied, ${Quantity.of(sums.bytes, "bytes")}")),
          "Rows" -> Seq(text(s"${Quantity.of(sums.rowsIn, "")} checked, ${Quantity.of(sums.rowsRemoved, "")} removed")),
          "Errors" -> Seq(text(query.errors.toString))
        ) ++ Option.when(query.saved.joins > 0)(
          (if (query.mode == Mode.Apply.name) "Saved" else "Would save") -> Seq(text(Words.saved(query.saved)))
        )
    facts(described ++ decided ++ done: _*)
  }

  private def join(story: JoinStory): Seq[Node] = {
    val decision = story.decision
    Seq(
      el("h4", "id" -> s"join-${story.number}")(text(s"Join ${story.number}: ${Words.choice(decision)}")),
      el("p")(text(s"${Words.join(decision.facts)}; ${Words.sides(decision.facts)}; Spark by itself: ${Words.ofSpark(decision.facts)}")),
      table(s"join-${story.number}-options", Formats.TableClass, OptionHeaders, options(decision) ++ verdicts(decision))
    ) ++ filters(story)
  }

  private val OptionHeaders = Seq("Option", "Predicted cost", "Taken") ++ Words.ReasonHeaders

  /** Every option, the chosen one first. */
  private def options(decision: JoinDecision): Seq[Node] = {
    val (taken, others) = decision.options.partition(weighed => decision.taken.contains(weighed.option))
    val dearest = decision.options.flatMap(_.costMillis).maxOption.getOrElse(0.0)
    def cost(millis: Double): Seq[Node] =
      Seq(text(Quantity.of(millis, "millis")), el("div")(Bars.share(if (dearest > 0) millis / dearest else 0)))
    val first = answer(strong(Words.choice(decision)), taken.flatMap(_.costMillis).flatMap(cost), "yes", decision.reason)
    first +: others.map(other => answer(text(Words.option(other.option)), other.costMillis.toSeq.flatMap(cost), "no", other.reason))
  }

  /** The two other answers: whether there is a filter, and whether the probe side waits for it. */
  private def verdicts(decision: JoinDecision): Seq[Node] = {
    val filter = answer(
      text("a filter in the probe side's scans"),
      Seq(text(s"expected to pass ${Quantity.percent(decision.passRate)} of the rows")),
      if (decision.buildFilter) "yes" else "no",
      decision.filterReason
    )
    (filter +: decision.unforced.toSeq.flatMap(unforced(decision, _))) ++ decision.facts.waiting.toSeq.map { wait =>
      val promised = s"saves ${Quantity.of(wait.savingMillis, "millis")}, idle for ${Quantity.of(wait.idleMillis, "millis")}" +
        wait.outcome.fold("")(outcome => s"; waited ${Quantity.of(outcome.millis, "millis")}, ${outcome.end.name}")
      answer(
        text("the probe side waits for the build side"),
        Seq(text(promised)),
        if (wait.waits || wait.outcome.isDefined) "yes" else "no",
        wait.reason
      )
    }
  }

  private def unforced(decision: JoinDecision, by: Unforced): Seq[Node] = {
    def taken(same: Boolean) = if (same) "yes" else "no"
    val filter = if (by.buildFilter) "a filter" else "no filter"
    Seq(
      answer(text(s"${Words.choice(by)}, if it were not forced"), Nil, taken(by.choice == decision.choice), by.reason),
      answer(text(s"$filter, if it were not forced"), Nil, taken(by.buildFilter == decision.buildFilter), by.filterReason)
    )
  }

  private def answer(question: Node, predicted: Seq[Node], taken: String, reason: Reason): Node =
    row(Seq(Seq(question), predicted, Seq(text(taken))) ++ Words.reason(reason): _*)

  private val FilterHeaders = Seq(
    "Scan",
    "Filter",
    "Size",
    "Keys",
    "Rows in",
    "Rows out",
    "Rows removed",
    "Passed / expected",
    "Rows not checked",
    "Build time",
    "Waited",
    "What happened"
  )

  private def filters(story: JoinStory): Seq[Node] = {
    val done = story.outcomes.map(outcome => (outcome.filterId, outcome.table, outcome.scanColumns)).toSet
    val only = story.filters.filterNot(filter => done((filter.filterId, filter.table, filter.scanColumns)))
    val rows = story.outcomes.map(outcome(_, story.decision.passRate)) ++ only.map(placed)
    if (rows.isEmpty) Nil else Seq(table(s"join-${story.number}-filters", Formats.TableClass, FilterHeaders, rows))
  }

  private def outcome(outcome: FilterOutcome, expectedPass: Double): Node = {
    val checked = outcome.rowsIn > 0
    val passed = outcome.rowsOut.toDouble / math.max(1L, outcome.rowsIn)
    row(
      Seq(text(scan(outcome.table, outcome.scanColumns))),
      Seq(text(outcome.kind.replace('_', ' '))),
      Seq(text(Quantity.of(outcome.filterBytes, "bytes"))),
      Seq(text(Quantity.of(outcome.keys, ""))),
      Seq(text(Quantity.of(outcome.rowsIn, ""))),
      Seq(text(Quantity.of(outcome.rowsOut, ""))),
      Seq(text(Quantity.of(math.max(0L, outcome.rowsIn - outcome.rowsOut), ""))),
      if (checked)
        Seq(
          text(s"${Quantity.percent(passed)} / ${Quantity.percent(expectedPass)}"),
          el("div")(Bars.share(passed, Some(expectedPass)))
        )
      else Nil,
      Seq(text(Quantity.of(outcome.rowsUnchecked, ""))),
      Seq(text(Quantity.of(outcome.buildMillis, "millis"))),
      Seq(text(Quantity.of(outcome.waitMillis, "millis"))),
      happened(outcome)
    )
  }

  private def happened(outcome: FilterOutcome): Seq[Node] =
    if (!outcome.found) Seq(strong("not found when the scan ran: every row passed"))
    else
      outcome.reason.fold[Seq[Node]](text(applied(outcome)) +: outcome.filesKept.toSeq.flatMap(kept))(why =>
        strong("let every row pass: ") +: Words.reasonInOneCell(why)
      )

  private def kept(why: Reason): Seq[Node] = strong("; all files read: ") +: Words.reasonInOneCell(why)

  private def applied(outcome: FilterOutcome): String =
    outcome.filesLeftOut.filter(_ > 0).fold("applied") { files =>
      val of = outcome.filesListed.fold("")(all => s" of ${Quantity.of(all, "")}")
      s"applied; files without a key not read: ${Quantity.of(files, "")}$of (${Quantity.of(outcome.bytesLeftOut.getOrElse(0L), "bytes")})"
    }

  /** A filter without an outcome: it is not in the plan, or the query has not ended. */
  private def placed(filter: PlacedFilter): Node = {
    val state = if (filter.applied) text("in the plan: ") else strong("not in the plan: ")
    el("tr")(
      el("td")(text(scan(filter.table, filter.scanColumns))),
      el("td", "colspan" -> (FilterHeaders.size - 2).toString)(),
      el("td")(state +: Words.reasonInOneCell(filter.reason): _*)
    )
  }

  private val LimitHeaders = Seq("Limit", "Table", "What is read", "Why", "Files chosen", "Rows proven", "Rows read", "Splits")

  private def limitTable(limits: Seq[LimitStory]): Seq[Node] =
    if (limits.isEmpty) Nil
    else Seq(el("h4", "id" -> "limits")(text("Limits")), table("query-limits", Formats.TableClass, LimitHeaders, limits.map(limitRow)))

  private def limitRow(limit: LimitStory): Node = {
    val facts = limit.decision.facts
    val left = limit.decision.choice == LimitChoice.LeaveToSpark
    def whenScanned(value: => String): Seq[Node] = if (limit.outcome.isEmpty) Nil else Seq(text(value))
    row(
      Seq(text(Words.limit(facts))),
      Seq(text(cut(facts.table, MaxName))),
      text(Words.choice(limit.decision)) +: (if (limit.applied || left) Nil else Seq(text(", not applied"))),
      Words.reasonInOneCell(limit.decision.reason),
      whenScanned(s"${Quantity.of(limit.decision.filesChosen.toLong, "")} of ${Quantity.of(facts.files.toLong, "")}"),
      whenScanned(Quantity.of(limit.decision.rowsProven, "")),
      limit.outcome.toSeq.map(outcome => text(Quantity.of(outcome.rowsRead, ""))),
      limit.outcome.flatMap(_.splits).toSeq.map(splits => text(Quantity.of(splits, "")))
    )
  }

  private val PredicateHeaders = Seq("Table", "Predicate of its scan", "How it follows", "Applied")

  private def predicateTable(predicates: Seq[PredicateRecord]): Seq[Node] =
    if (predicates.isEmpty) Nil
    else
      Seq(
        el("h4", "id" -> "predicates")(text("Predicates across joins")),
        table("query-predicates", Formats.TableClass, PredicateHeaders, predicates.map(predicateRow))
      )

  private def predicateRow(predicate: PredicateRecord): Node = row(
    Seq(text(cut(predicate.table, MaxName))),
    Seq(el("code")(text(predicate.predicate))),
    Words.inferredBy(predicate.inferredBy),
    Seq(text(if (predicate.applied) "yes" else "no"))
  )

  private def scan(table: String, columns: Seq[String]): String = s"${cut(table, MaxName)}(${columns.map(cut(_, MaxName)).mkString(", ")})"

  private val MaxDescription = 10000
  private val MaxName = 200
}
