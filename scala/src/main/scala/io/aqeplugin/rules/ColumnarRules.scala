package io.aqeplugin.rules

import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}

import io.aqeplugin.metrics.Survivable
import io.aqeplugin.observe.Engine

/** The columnar rules that others have added to a session. An engine may put its operators into a plan only by these, when a stage begins:
  * too late for a join whose probe side already waits.
  */
private[rules] object ColumnarRules {
  private val Own = "io.aqeplugin."

  /** What they make of a plan, without those of an engine that the plugin works with; none if there are none. A plan that one of them fails
    * on stays as it is: it will fail there without the plugin too, or is no plan that the rule will see.
    */
  def applied(plan: SparkPlan, engine: Option[Engine]): Option[SparkPlan] = {
    val rules = plan.session.sessionState.columnarRules.map(rule => rule -> rule.getClass.getName)
      .collect { case (rule, name) if !name.startsWith(Own) && !engine.exists(_.owns(name)) => rule }
    if (rules.isEmpty) None else Some(rules.foldLeft(plan.clone())(applied))
  }

  private def applied(plan: SparkPlan, rule: ColumnarRule): SparkPlan =
    try rule.preColumnarTransitions(plan)
    catch { case Survivable(_) => plan }
}
