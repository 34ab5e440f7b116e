package io.aqeplugin.plugin

import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}

import io.aqeplugin.rules.{ChooseJoinStrategy, InferPredicates, ReadFewerFiles, WaitAndPlaceFilters}
import io.aqeplugin.tell.{AqeDecideFunction, DecisionsTable, LimitsTable, MetricsTable, PredicatesTable}

/** What the plugin adds to a session: four rules, in the order in which Spark runs them, and five functions.
  *
  *   1. [[InferPredicates]], once on the logical plan, after Spark has inferred and pushed its own predicates and before it pushes them into
  *      scans: adds predicates that follow across joins.
  *   1. [[ChooseJoinStrategy]], on the logical plan, before each re-planning: decides joins whose build side has finished, and hints at the
  *      method. Spark's planning follows the hint.
  *   1. [[WaitAndPlaceFilters]], on the physical plan, at the start and after each re-planning: makes probe sides wait and places filters. Runs after
  *      Spark's own preparation rules, so that it sees the exchanges that they add.
  *   1. [[ReadFewerFiles]], on the physical plan, before columnar transitions: chooses the files that the scan below a limit reads. It also sees
  *      queries that AQE leaves alone.
  *   1. `aqe_decide(facts, thresholds)`, the decision as a SQL function, for replays.
  *   1. `aqe_decisions()`, recent decisions as a table.
  *   1. `aqe_limits()`, recent limits as a table.
  *   1. `aqe_predicates()`, recent predicates across joins as a table.
  *   1. `aqe_metrics()`, the driver's metrics as a table.
  */
final class AqeExtensions extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectPreCBORule(InferPredicates(_))
    extensions.injectRuntimeOptimizerRule(ChooseJoinStrategy(_))
    extensions.injectQueryStagePrepRule(WaitAndPlaceFilters(_))
    extensions.injectColumnar(session =>
      new ColumnarRule { override val preColumnarTransitions: Rule[SparkPlan] = ReadFewerFiles(session) }
    )
    extensions.injectFunction(AqeDecideFunction.description)
    extensions.injectTableFunction(DecisionsTable.description)
    extensions.injectTableFunction(LimitsTable.description)
    extensions.injectTableFunction(MetricsTable.description)
    extensions.injectTableFunction(PredicatesTable.description)
  }
}
