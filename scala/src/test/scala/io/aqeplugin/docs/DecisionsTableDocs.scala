package io.aqeplugin.docs

import java.util.Locale

import org.apache.spark.sql.types.{ArrayType, StructType}

import io.aqeplugin.tell.{DecisionColumns, LimitColumns, PredicateColumns, TableColumn}

/** Generates the page with the columns of `aqe_decisions()`. */
object DecisionsTableDocs {
  lazy val File: GeneratedFile = GeneratedFile("docs/reference/decisions.md", page)

  /** Questions and the queries that answer them. A test runs the queries. */
  val Examples: Seq[(String, String)] = Seq(
    "joins of the recent queries, slowest query first" ->
      """SELECT execution_id, query_millis, join_id, choice, reason, filter_status, filter_rows_in, filter_rows_out
        |FROM aqe_decisions() ORDER BY query_millis DESC""".stripMargin,
    "which limits prevent filters, and how often" ->
      "SELECT filter_reason, filter_reason_conf_key, count(*) FROM aqe_decisions() WHERE NOT with_filter GROUP BY 1, 2",
    "predicted and actual pass rate" ->
      "SELECT join_id, predicted_pass_rate, filter_rows_out / filter_rows_in FROM aqe_decisions() WHERE filter_rows_in > 0",
    "choices under another limit, with every other key at its default; aqe_decide gives the whole decision as JSON" ->
      """SELECT join_id, choice, get_json_object(aqe_decide(facts, '{"broadcast.maxMemoryBytes": "1m"}'), '$.choice') FROM aqe_decisions()""",
    "options that were not taken, with reasons" ->
      """SELECT join_id, option.strategy, option.with_filter, option.cost_millis, option.reason
        |FROM aqe_decisions() LATERAL VIEW explode(options_not_taken) options AS option""".stripMargin,
    "what each filter left out of each scan: files that were not read, and rows of the others" ->
      """SELECT join_id, filter.table, filter.status, filter.files_left_out, filter.files_listed, filter.rows_in, filter.rows_out
        |FROM aqe_decisions() LATERAL VIEW explode(filters) filters AS filter""".stripMargin
  )

  private def page: String =
    s"""# The table of decisions
       |
       |Generated from `scala/src/main/scala/io/aqeplugin/tell/DecisionColumns.scala` by `make docs`; do not edit.
       |
       |`aqe_decisions()` is a table function of Spark SQL with one row for each join decision of the application's recent queries. Every session of
       |an application with the plugin has it: `spark.sql`, a Thrift Server, Spark Connect.
       |
       |```sql
       |${Examples.map { case (what, query) => s"-- $what\n$query;" }.mkString("\n\n")}
       |```
       |
       |- A decision appears as soon as it is made, while its query still runs. The outcomes of its filters are null until the query has ended.
       |- The table has the queries of all sessions. As in Spark's UI, every user sees the queries of the others.
       |- The driver keeps the last `spark.aqePlugin.decisions.keptQueries` queries, and the first `spark.aqePlugin.decisions.keptPerQuery` decisions of
       |  each. The event log has all queries.
       |- The plugin leaves a query that reads the table alone and does not record it. The query has the rows that existed when it was planned.
       |- A session with `spark.aqePlugin.mode=off` adds no rows but can read the table.
       |
       |""".stripMargin + columns

  // Not in the text above, because stripMargin would remove the first bar of each table row.
  private def columns: String = Seq(
    "## Columns" -> DecisionColumns.All,
    "### Fields of `options_not_taken`" -> DecisionColumns.OptionFields,
    "### Fields of `filters`" -> DecisionColumns.FilterFields,
    limits -> LimitColumns.All,
    predicates -> PredicateColumns.All
  ).map { case (title, fields) => s"$title\n\n${table(fields)}\n" }.mkString("\n")

  private def limits: String =
    """## `aqe_limits()`
      |
      |One row for each of the latest `spark.aqePlugin.decisions.keptQueries` limits of the application, oldest first; a limit appears when its query has
      |ended.""".stripMargin

  private def predicates: String =
    """## `aqe_predicates()`
      |
      |One row for each of the latest `spark.aqePlugin.decisions.keptQueries` predicates that were inferred across joins, oldest first. A predicate of a
      |query that was planned before it ran (`explain`) is not recorded.""".stripMargin

  private def table(columns: Seq[TableColumn[_]]): String =
    MarkdownTable(Seq("Name", "Type", "Unit", "Meaning"), columns.map(one => Seq(s"`${one.name}`", typeName(one), one.unit, one.doc)))

  private def typeName(column: TableColumn[_]): String = column.dataType match {
    case ArrayType(_: StructType, _) => "array of struct"
    case ArrayType(element, _)       => s"array of ${element.sql.toLowerCase(Locale.ROOT)}"
    case other                       => other.sql.toLowerCase(Locale.ROOT)
  }
}
