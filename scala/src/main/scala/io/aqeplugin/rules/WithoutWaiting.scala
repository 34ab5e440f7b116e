package io.aqeplugin.rules

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.exec.RuntimeFilterExec
import io.aqeplugin.observe.Engines

/** Takes what waits out of a stage that begins and that an engine runs, where AQE has kept an earlier plan: the engine's operators take no
  * rows from it, and are as they were before it was put between them. In every mode: a plan may have been made in another one.
  */
case object WithoutWaiting extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case waiting: RuntimeFilterExec if Engines.of(waiting.child).isDefined => waiting.child
  }
}
