package io.aqeplugin.rules

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.exec.RuntimeFilterExec

/** Takes what waits out of a stage that begins and that an engine runs, where AQE has kept an earlier plan: the engine's operators take no
  * rows from it, and are as they were before it was put between them.
  */
final case class WithoutWaiting(session: SparkSession) extends SafeRule[SparkPlan](session) {

  override protected def concerns(plan: SparkPlan): Boolean = plan.exists(_.isInstanceOf[RuntimeFilterExec])

  override protected def change(plan: SparkPlan, context: RuleContext): SparkPlan =
    if (context.engine.isEmpty) plan
    else plan.transformUp { case waiting: RuntimeFilterExec => waiting.child }
}
