package io.aqeplugin.tell

import io.aqeplugin.decide.{BuildFacts, EstimateSource, JoinDecision, Reason, Strategy}
import io.aqeplugin.limit.LimitDecision

/** Decisions as one line of plain text, for the log and for plans. */
object ExplainText {

  /** What Spark does by itself with a join, if the plugin does not price it. */
  val NotPriced: String = "another method"

  def line(executionId: Long, decision: JoinDecision): String = {
    val facts = decision.facts
    s"query $executionId, join ${facts.joinId}: ${decision.choice.name} (${reason(decision.reason)}${unforced(decision)}); " +
      s"filter ${if (decision.buildFilter) "yes" else "no"} (${reason(decision.filterReason)}); " +
      s"build ${facts.buildSide.name} ${rows(facts.build.rows)}${tableRows(facts.build)}, " +
      s"${Quantity.of(facts.build.memoryBytes, "bytes")} in memory, probe ${rows(facts.probe.rows)}${of(facts.probe.rowsSource)}, " +
      s"pass rate ${percent(decision.passRate)} (${decision.passRateSource.name})${forOthers(decision)}"
  }

  private def tableRows(build: BuildFacts): String =
    build.originRows.fold("")(rows => s" of ${Quantity.of(rows, "")}${of(build.originRowsSource)}")
  private def rows(count: Long): String = Quantity.of(count, "rows")
  private def of(source: Option[EstimateSource]): String = source.fold("")(known => s" (${known.name})")

  /** A join's line in EXPLAIN, with what Spark by itself does. */
  def line(decision: JoinDecision): String =
    s"${decision.facts.joinId}: Spark: ${ofSpark(decision.facts.sparkStrategy)}, plugin: ${decision.choice.name} (${reason(decision.reason)}${unforced(decision)}); " +
      (if (decision.buildFilter)
         s"filter (${reason(decision.filterReason)}), expected to pass ${percent(decision.passRate)}${forOthers(decision)}"
       else s"no filter (${reason(decision.filterReason)})")

  private def ofSpark(strategy: Strategy): String = if (strategy == Strategy.LeaveToSpark) NotPriced else strategy.name

  /** A join's line in EXPLAIN while its build side has not finished. */
  def undecided(decision: JoinDecision, waits: Boolean): String =
    s"${decision.facts.joinId}: not decided yet, the ${decision.facts.buildSide.name} side is the build side; " +
      s"the probe side ${if (waits) "waits for it" else "does not wait"} (${reason(decision.reason)})"

  /** The line of a plan whose joins are not looked at: short, as writing lines for each would take of the query's own time. */
  def passedBy(joins: Int, why: Reason): String =
    s"${if (joins == 1) "one join" else s"$joins joins"} left to Spark and not looked at (${why.code.name}: ${why.confKey}); " +
      "aqe_decisions() has each"

  /** The line of a plan that is explained: a query that runs does not look at its joins. Their own lines follow. */
  def wouldPassBy(joins: Int, why: Reason): String =
    s"a query that runs leaves ${if (joins == 1) "its join" else s"its $joins joins"} to Spark and does not look (${reason(why)}); looked at:"

  /** The text after a filter's name in a plan. */
  def short(decision: JoinDecision): String =
    s"${decision.choice.name}, ${decision.filterReason.code.name}, expected to pass ${percent(decision.passRate)}"

  def line(executionId: Long, decision: LimitDecision): String = {
    val facts = decision.facts
    s"query $executionId, ${facts.operator.name} limit of ${facts.rowsWanted} rows on ${facts.table}: ${decision.choice.name} " +
      s"(${reason(decision.reason)}); ${decision.filesChosen} of ${facts.files} files, ${facts.footers} footers in ${facts.footerMillis} ms"
  }

  def reason(reason: Reason): String = {
    val details = Seq(reason.subject, Quantity.of(reason), reason.confKey).filter(_.nonEmpty)
    reason.code.name + (if (details.isEmpty) "" else details.mkString(": ", ", ", ""))
  }

  /** What would be chosen if the join were not forced. */
  private def unforced(decision: JoinDecision): String = decision.unforced.fold("") { by =>
    s"; else ${by.choice.name}, ${reason(by.reason)}, ${if (by.buildFilter) "with a filter" else "no filter"}, ${reason(by.filterReason)}"
  }

  private def forOthers(decision: JoinDecision): String = {
    val rate = decision.facts.probe.otherUsesPassRate
    if (rate > 0) s", up to ${percent(math.min(1.0, rate))} for other uses of the scan" else ""
  }

  private def percent(ratio: Double): String = f"${ratio * 100}%.2f %%"
}
