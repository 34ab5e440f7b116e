package io.aqeplugin.rules

import org.apache.spark.SparkContext

import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.observe.QueryStates

/** Records rules that failed: each fault is counted, also for its query, and logged. The query continues with Spark's own plan. */
private[rules] object RuleFaults {
  def note(sparkContext: SparkContext, rule: String, error: Throwable): Unit = {
    Faults.note(rule, "Spark's own plan is used", error)
    // A class that the rule did not find may be missing here as well.
    try RuleContext.executionId(sparkContext).foreach(QueryStates.of(_).errors.increment())
    catch { case Survivable(_) => () }
  }
}
