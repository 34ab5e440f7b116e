package io.aqeplugin.tell.ui

import scala.xml.Node

import org.apache.spark.ui.aqeplugin.Formats

import io.aqeplugin.tell.ui.Html._

/** The tab's first page: totals of the application, then its queries, latest first. */
object QueriesView {

  /** @param execution
    *   none when the SQL tab has no record of the query
    */
  final case class Line(query: QueryRecord, execution: Option[Execution])

  final case class Model(totals: TotalsRecord, page: Paging, lines: Seq[Line])

  def render(model: Model, links: Links): Seq[Node] = {
    val queries =
      if (model.lines.isEmpty)
        alert("No join has been decided yet. A join of a query that AQE plans is decided when its build side has finished.")
      else
        Seq(el("h4")(text("Queries"))) ++ pages(model.page, links) ++
          Seq(queryTable(model.lines, links)) ++ pages(model.page, links)
    summary(model.totals) +: queries
  }

  private def summary(totals: TotalsRecord): Node = {
    val filters = totals.filters
    val plain = Seq(
      "Mode" -> (if (totals.mode.isEmpty) "no decision yet" else totals.mode),
      "Queries" -> Quantity.of(totals.queries, ""),
      "Joins decided" -> Words.choices(totals.choices),
      "Filters" -> (s"${Quantity.of(filters.applied, "")} of ${Quantity.of(filters.planned, "")} applied" +
        (if (filters.passedAll > 0) s", ${Quantity.of(filters.passedAll, "")} let every row pass" else "")),
      "Rows removed" -> removed(filters),
      "Errors" -> (Quantity.of(totals.errors, "") + (if (filters.missing > 0) s", and ${filters.missing} filters not applied" else ""))
    )
    val skipped = Option.when(totals.skipped > 0)(
      "Events left out" -> s"${Quantity.of(totals.skipped, "")}, written by another version of the plugin"
    )
    facts((plain ++ skipped).map { case (name, value) => name -> Seq(text(value)) }: _*)
  }

  /** Without a canary, there is no column for the arm. */
  private def queryTable(lines: Seq[Line], links: Links): Node = {
    val tried = lines.exists(_.query.arm.nonEmpty)
    val headers = HeadersBefore ++ Option.when(tried)("Arm") ++ HeadersAfter
    table("runtime-filter-queries", Formats.TableClass, headers, lines.map(line(_, tried, links)))
  }

  private val HeadersBefore = Seq("Query", "Description", "Submitted", "Duration", "Mode")

  private val HeadersAfter = Seq(
    "Joins",
    "Filters",
    "Rows checked",
    "Rows removed",
    "Longest wait",
    "Plugin's rules",
    "Faults"
  )

  private def line(line: Line, tried: Boolean, links: Links): Node = {
    val query = line.query
    val filters = query.filters
    def whenEnded(value: => Seq[Node]): Seq[Node] = if (query.ended) value else Nil
    val before = Seq(
      Seq(link(links.query(query.executionId), query.executionId.toString)),
      description(line, links),
      Seq(text(Formats.date(line.execution.fold(query.firstMillis)(_.submittedMillis)))),
      Seq(text(if (query.ended) Formats.duration(query.durationMillis) else "running")),
      Seq(text(query.mode))
    )
    val after = Seq(
      Seq(text(Words.choices(query.choices))),
      whenEnded(Seq(text(s"${filters.applied} of ${filters.planned}"))),
      whenEnded(Seq(text(Quantity.of(filters.rowsIn, "")))),
      whenEnded(
        if (filters.rowsIn > 0) Seq(text(Quantity.of(filters.rowsRemoved, "")), el("div")(Bars.share(share(filters))))
        else Nil
      ),
      whenEnded(if (filters.planned > 0) Seq(text(Quantity.of(filters.waitMillis, "millis"))) else Nil),
      whenEnded(Seq(text(Quantity.of(query.ruleMillis, "millis")))),
      whenEnded(faults(query))
    )
    row(before ++ Option.when(tried)(query.arm.toSeq.map(text)) ++ after: _*)
  }

  private def description(line: Line, links: Links): Seq[Node] = line.execution.toSeq.flatMap { execution =>
    val name = if (execution.description.isBlank) s"execution ${line.query.executionId}" else cut(execution.description, MaxDescription)
    link(links.execution(line.query.executionId), name) +: (if (execution.status == "FAILED") Seq(text(" (failed)")) else Nil)
  }

  private def faults(query: QueryRecord): Seq[Node] = {
    val parts = Seq(
      query.errors -> "errors",
      query.filters.missing -> "not applied",
      query.filters.passedAll -> "let every row pass"
    ).collect { case (number, what) if number > 0 => s"$number $what" }
    if (parts.isEmpty) Seq(text("0")) else Seq(strong(parts.mkString(", ")))
  }

  private def removed(filters: FilterSums): String =
    if (filters.rowsIn == 0) "none checked"
    else s"${Quantity.of(filters.rowsRemoved, "")} of ${Quantity.of(filters.rowsIn, "")} checked, ${Quantity.percent(share(filters))}"

  private def share(filters: FilterSums): Double = filters.rowsRemoved.toDouble / math.max(1L, filters.rowsIn)

  private def pages(page: Paging, links: Links): Seq[Node] =
    if (page.pages == 1) Nil
    else {
      def step(number: Int, name: String): Node =
        if (number < 1 || number > page.pages) el("li", "class" -> "page-item disabled")(el("span", "class" -> "page-link")(text(name)))
        else el("li", "class" -> "page-item")(el("a", "class" -> "page-link", "href" -> links.queries(number))(text(name)))
      val here = el("li", "class" -> "page-item active")(el("span", "class" -> "page-link")(text(s"page ${page.number} of ${page.pages}")))
      Seq(el("ul", "class" -> "pagination")(step(page.number - 1, "newer"), here, step(page.number + 1, "older")))
    }

  private val MaxDescription = 200
}
