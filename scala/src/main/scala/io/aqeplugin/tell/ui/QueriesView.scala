package io.aqeplugin.tell.ui

import scala.xml.Node

import org.apache.spark.ui.aqeplugin.Formats

import io.aqeplugin.tell.Quantity
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
        alert(
          "Nothing has been decided yet. A join of a query that AQE plans is decided when its build side has finished; a limit is shown when its query has ended."
        )
      else
        Seq(el("h4")(text("Queries"))) ++ pages(model.page, links) ++
          Seq(queryTable(model.lines, links)) ++ pages(model.page, links)
    summary(model.totals) +: queries
  }

  private def summary(totals: TotalsRecord): Node = {
    val filters = totals.filters
    val saved = Seq("Saved" -> totals.saved, "Would save" -> totals.wouldSave).filter(_._2.joins > 0).map { case (name, sums) =>
      name -> Words.saved(sums)
    }
    val plain = saved ++ Seq(
      "Mode" -> (if (totals.mode.isEmpty) "no decision yet" else totals.mode),
      "Queries" -> Quantity.of(totals.queries, ""),
      "Joins decided" -> Words.choices(totals.choices),
      "Filters" -> (s"${Quantity.of(filters.applied, "")} of ${Quantity.of(filters.planned, "")} applied" +
        (if (filters.passedAll > 0) s", ${Quantity.of(filters.passedAll, "")} let every row pass" else "")),
      "Rows removed" -> removed(filters),
      "Errors" -> (Quantity.of(totals.errors, "") + (if (filters.missing > 0) s", and ${filters.missing} filters not applied" else ""))
    )
    val limits = Option.when(totals.limits > 0)(
      "Limits" -> s"${Quantity.of(totals.limits, "")}, files not read: ${Quantity.of(totals.limitFilesLeftOut, "")}"
    )
    val predicates = Option.when(totals.predicates > 0)("Predicates across joins" -> Quantity.of(totals.predicates, ""))
    val skipped = Option.when(totals.skipped > 0)(
      "Events left out" -> s"${Quantity.of(totals.skipped, "")}, written by another version of the plugin"
    )
    facts((plain ++ limits ++ predicates ++ skipped).map { case (name, value) => name -> Seq(text(value)) }: _*)
  }

  /** @param isShown
    *   whether any of the page's queries has something in this column
    */
  private final case class Column(header: String, cell: (Line, Links) => Seq[Node], isShown: QueryRecord => Boolean = _ => true)

  private val Columns: Seq[Column] = Seq(
    Column("Query", (line, links) => Seq(link(links.query(line.query.executionId), line.query.executionId.toString))),
    Column("Description", description),
    Column("Submitted", (line, _) => Seq(text(Formats.date(line.execution.fold(line.query.firstMillis)(_.submittedMillis))))),
    ofQuery("Duration")(query => if (query.ended) Formats.duration(query.durationMillis) else "running"),
    ofQuery("Mode")(_.mode),
    Column("Arm", (line, _) => line.query.arm.toSeq.map(text), _.arm.nonEmpty),
    ofQuery("Joins")(query => Words.choices(query.choices)),
    ofQuery("Limits", _.limits > 0)(query => Quantity.of(query.limits.toLong, "")),
    ofQuery("Predicates", _.predicates > 0)(query => Quantity.of(query.predicates.toLong, "")),
    whenEnded("Filters")(query => Seq(text(s"${query.filters.applied} of ${query.filters.planned}"))),
    whenEnded("Rows checked")(query => Seq(text(Quantity.of(query.filters.rowsIn, "")))),
    whenEnded("Rows removed") { query =>
      if (query.filters.rowsIn == 0) Nil
      else Seq(text(Quantity.of(query.filters.rowsRemoved, "")), el("div")(Bars.share(share(query.filters))))
    },
    Column(
      "Saved, predicted",
      (line, _) => if (line.query.saved.joins > 0) Seq(text(Quantity.of(line.query.saved.elapsedMillis, "millis"))) else Nil,
      _.saved.joins > 0
    ),
    whenEnded("Last filter ready") { query =>
      if (query.filters.planned > 0) Seq(text(Quantity.of(query.filters.waitMillis, "millis"))) else Nil
    },
    whenEnded("Plugin's rules")(query => Seq(text(Quantity.of(query.ruleMillis, "millis")))),
    whenEnded("Faults")(faults)
  )

  private def ofQuery(header: String, isShown: QueryRecord => Boolean = _ => true)(cell: QueryRecord => String): Column =
    Column(header, (line, _) => Seq(text(cell(line.query))), isShown)

  private def whenEnded(header: String)(cell: QueryRecord => Seq[Node]): Column =
    Column(header, (line, _) => if (line.query.ended) cell(line.query) else Nil)

  private def queryTable(lines: Seq[Line], links: Links): Node = {
    val columns = Columns.filter(column => lines.exists(line => column.isShown(line.query)))
    val rows = lines.map(line => row(columns.map(_.cell(line, links)): _*))
    table("runtime-filter-queries", Formats.TableClass, columns.map(_.header), rows)
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
