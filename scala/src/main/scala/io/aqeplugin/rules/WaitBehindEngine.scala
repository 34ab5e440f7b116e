package io.aqeplugin.rules

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.place.EnginePlaces

/** Makes probe sides wait in a plan that an engine has taken over, where [[WaitAndPlaceFilters]] has reserved the places. */
final case class WaitBehindEngine(session: SparkSession) extends SafeRule[SparkPlan](session) {

  override protected def change(plan: SparkPlan, context: RuleContext): SparkPlan = {
    EnginePlaces.unlink(plan)
    // Without an execution no plan knows what was built for another, and each would wait anew.
    val places = if (context.isExecution || PlacingBySettings.isFirst(plan)) EnginePlaces.taken(plan, context.state) else Nil
    val mayWait = places.flatMap(_.placements).map(_.label.joinId).distinct.filter(context.state.mayWait).toSet
    val waiting =
      places.map(place => place.copy(placements = place.placements.filter(one => mayWait(one.label.joinId)))).filter(_.placements.nonEmpty)
    if (waiting.isEmpty) plan
    else PlacingBySettings.placing(waiting.flatMap(_.placements), Nil, waiting.flatMap(_.clockNanos).minOption, context, plan)(plan)
  }
}
