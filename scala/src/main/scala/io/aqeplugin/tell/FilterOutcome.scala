package io.aqeplugin.tell

import java.util.IdentityHashMap

import org.apache.spark.sql.execution.{QueryExecution, ReusedSubqueryExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

import io.aqeplugin.decide.Reason
import io.aqeplugin.exec.RuntimeFilterExec

/** What became of one filter on one scan.
  *
  * @param found
  *   whether the scan found its filter when it ran (one that passes all was found too, and says why)
  * @param kind
  *   kind of filter, `pass_all` or `missing`
  * @param waitMillis
  *   time between the plan's start and the moment the scan had its filters
  * @param keys
  *   build rows with a key
  */
final case class FilterOutcome(
    filterId: String,
    joinId: String,
    table: String,
    scanColumns: Seq[String],
    found: Boolean,
    kind: String,
    reason: Option[Reason],
    rowsIn: Long,
    rowsOut: Long,
    batchesSkipped: Long,
    filterBytes: Long,
    buildMillis: Long,
    waitMillis: Long,
    keys: Long
)

object FilterOutcome {

  /** The outcomes of all filters of a query that ran, in stages and subqueries too. Scans that were never started have none. */
  def of(query: QueryExecution): Seq[FilterOutcome] = {
    val seen = new IdentityHashMap[SparkPlan, Unit]()
    def below(plan: SparkPlan): Seq[FilterOutcome] =
      if (seen.containsKey(plan)) {
        Nil
      } else {
        seen.put(plan, ())
        ofNode(plan) ++ inner(plan).flatMap(below) ++ plan.subqueries.flatMap(below)
      }
    below(query.executedPlan)
  }

  /** What a plan consists of. Goes into reused exchanges: a build side that is first met below a filter stands in its join as a reuse of that
    * one, and once the filter is gone from the plan nowhere else.
    */
  private def inner(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case adaptive: AdaptiveSparkPlanExec => Seq(adaptive.executedPlan)
    case stage: QueryStageExec           => Seq(stage.plan)
    case reused: ReusedExchangeExec      => Seq(reused.child)
    case reused: ReusedSubqueryExec      => Seq(reused.child)
    case other                           => other.children
  }

  private def ofNode(plan: SparkPlan): Seq[FilterOutcome] = plan match {
    case node: RuntimeFilterExec => node.ran.toSeq.flatMap(found => node.labels.indices.map(i => outcome(node, found, i)))
    case _                       => Nil
  }

  private def outcome(node: RuntimeFilterExec, run: RuntimeFilterExec.Run, i: Int): FilterOutcome = {
    val label = node.labels(i)
    def metric(name: String): Long = node.metrics(name).value.max(0L)
    val (kind, reason, filterBytes, buildMillis, keys) = run.filters(i) match {
      case Right(Right(built)) => (built.kind, None, built.sizeBytes, built.buildMillis, built.rows)
      case Right(Left(reason)) => ("pass_all", Some(reason), 0L, 0L, 0L)
      case Left(_)             => ("missing", None, 0L, 0L, 0L)
    }
    FilterOutcome(
      label.filterId,
      label.joinId,
      label.table,
      label.columns,
      found = run.filters(i).isRight,
      kind,
      reason,
      metric(s"filter${i}RowsIn"),
      metric(s"filter${i}RowsOut"),
      metric(s"filter${i}BatchesSkipped"),
      filterBytes,
      buildMillis,
      run.waitMillis,
      keys
    )
  }
}
