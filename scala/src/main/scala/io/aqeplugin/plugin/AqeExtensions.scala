package io.aqeplugin.plugin

import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}

import io.aqeplugin.rules.{ChooseJoinStrategy, WaitAndPlaceFilters}
import io.aqeplugin.tell.{AqeDecideFunction, DecisionsTable, MetricsTable}

/** The rules of the plugin, in the order in which AQE comes to them.
  *
  *   1. [[ChooseJoinStrategy]], on the logical plan, before each re-planning: decides joins whose build side has finished, and sets broadcast or
  *      sort-merge. Has to come before planning, which acts on it.
  *   1. [[WaitAndPlaceFilters]], on the physical plan, at the start and after each re-planning: makes probe sides wait, places filters. Comes after
  *      Spark's own preparation rules, so that it sees the exchanges they put in.
  *   1. `aqe_decide(facts, thresholds)`, the decision itself as a SQL function, for replays.
  *   1. `aqe_decisions()`, what was decided lately, as a table.
  *   1. `aqe_metrics()`, what was counted, as a table.
  */
final class AqeExtensions extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectRuntimeOptimizerRule(ChooseJoinStrategy(_))
    extensions.injectQueryStagePrepRule(WaitAndPlaceFilters(_))
    extensions.injectFunction(AqeDecideFunction.description)
    extensions.injectTableFunction(DecisionsTable.description)
    extensions.injectTableFunction(MetricsTable.description)
  }
}
