package io.aqeplugin.tell

import java.util.Locale

import org.apache.spark.sql.types.{ArrayType, StructType}

import io.aqeplugin.conf.GeneratedFile

/** The columns of `aqe_decisions()` as a page. */
object DecisionsTableDocs {
  lazy val File: GeneratedFile = GeneratedFile("docs/decisions-table.md", page)

  /** What to ask, and how. A test runs them. */
  private[tell] val Examples: Seq[(String, String)] = Seq(
    "the joins of the last queries, the slowest query first" ->
      """SELECT execution_id, query_millis, join_id, choice, reason, filter_status, filter_rows_in, filter_rows_out
        |FROM aqe_decisions() ORDER BY query_millis DESC""".stripMargin,
    "which limits keep joins from being filtered, and how often" ->
      "SELECT filter_reason, filter_reason_conf_key, count(*) FROM aqe_decisions() WHERE NOT with_filter GROUP BY 1, 2",
    "predicted and real share of rows that passed" ->
      "SELECT join_id, predicted_pass_rate, filter_rows_out / filter_rows_in FROM aqe_decisions() WHERE filter_rows_in > 0",
    "what would be decided with another limit" ->
      """SELECT join_id, choice, aqe_decide(facts, '{"broadcast.maxMemoryBytes": "1m"}') FROM aqe_decisions()""",
    "why not: every option that was not taken" ->
      """SELECT join_id, option.strategy, option.cost_millis, option.reason
        |FROM aqe_decisions() LATERAL VIEW explode(options_not_taken) options AS option""".stripMargin
  )

  private def page: String =
    s"""# The table of decisions
       |
       |Generated from `scala/src/main/scala/io/aqeplugin/tell/DecisionColumns.scala` by `make docs`; do not edit.
       |
       |`aqe_decisions()` is a table function of Spark SQL with one row for each join decision of the queries that the application ran last. It is
       |there in every session of an application with the plugin, whatever asks: `spark.sql`, a Thrift Server, Spark Connect.
       |
       |```sql
       |${Examples.map { case (what, query) => s"-- $what\n$query;" }.mkString("\n\n")}
       |```
       |
       |- A decision is there as soon as it is made, while its query still runs. What its filters did comes when the query has ended, and is null until then.
       |- All sessions of the application are there. Whoever may query sees what others ran, as in Spark's UI.
       |- The driver keeps the last `spark.aqePlugin.decisions.keptQueries` queries, of each the first `spark.aqePlugin.decisions.keptPerQuery` decisions.
       |  Every query of a longer time is in the event log.
       |- A query that reads the table is left alone by the plugin and is not in the table. Its rows are those there were when it was planned.
       |- A session with `spark.aqePlugin.mode=off` adds no rows, and sees those there are.
       |
       |""".stripMargin + columns

  // Outside of the text above, whose margin every row of a table begins with.
  private def columns: String = Seq(
    "## Columns" -> DecisionColumns.All,
    "### Fields of `options_not_taken`" -> DecisionColumns.OptionFields,
    "### Fields of `filters`" -> DecisionColumns.FilterFields
  ).map { case (title, fields) => s"$title\n\n${table(fields)}\n" }.mkString("\n")

  private def table(columns: Seq[DecisionColumn[_]]): String =
    (Seq("| Name | Type | Unit | Meaning |", "|---|---|---|---|") ++ columns.map { column =>
      s"| `${column.name}` | ${typeName(column)} | ${column.unit} | ${column.doc} |"
    }).mkString("\n")

  private def typeName(column: DecisionColumn[_]): String = column.dataType match {
    case ArrayType(_: StructType, _) => "array of struct"
    case ArrayType(element, _)       => s"array of ${element.sql.toLowerCase(Locale.ROOT)}"
    case other                       => other.sql.toLowerCase(Locale.ROOT)
  }
}
