package io.aqeplugin.rules

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide.Thresholds
import io.aqeplugin.exec.{BuildLimits, SelfDisable, WaitClockExec}
import io.aqeplugin.filters.FilterLimits
import io.aqeplugin.observe.Engine
import io.aqeplugin.place.{EngineForm, EnginePlaces, PlaceFilters, Placement, SketchedBuild}

/** Filters are placed by the settings of their query, whichever rule places them. */
private[rules] object PlacingBySettings {

  /** What places filters in `plan` by the settings of its query. */
  def placing(
      placements: Seq[Placement],
      sketched: Seq[SketchedBuild],
      clockNanos: Option[Long],
      context: RuleContext,
      plan: SparkPlan,
      engine: Option[Engine] = None
  ): PlaceFilters = {
    val nowNanos = System.nanoTime()
    if (engine.isDefined) EnginePlaces.nameSources(placements)
    new PlaceFilters(
      placements,
      sketched,
      limits(context.thresholds).copy(forEngine = context.engine.isDefined),
      pause(context.thresholds),
      context.tables,
      clockNanos,
      engine.map(new EngineForm(_, (nowNanos - context.state.startNanos) / 1000000L, context.state)),
      hold =>
        // Without a state, only the first plan is known not to be made again for the same clock.
        if (!context.isExecution) Option.when(isFirst(plan))(WaitClockExec.PastNanos)
        else Option.when(context.state.mayHold(hold))(nowNanos)
    )
  }

  /** Whether none of its stages has begun. */
  def isFirst(plan: SparkPlan): Boolean = !plan.exists(_.isInstanceOf[QueryStageExec])

  private def limits(thresholds: Thresholds): BuildLimits = BuildLimits(
    FilterLimits(
      expectedKeys = Long.MaxValue,
      exactMaxKeys = thresholds(AqeConf.FilterExactMaxKeys).min(Int.MaxValue).toInt,
      maxFilterBytes = thresholds(AqeConf.FilterMaxBytes),
      falsePositiveRate = thresholds(AqeConf.FilterFalsePositiveRate)
    ),
    inListMaxKeys = thresholds(AqeConf.FilterInListMaxKeys).min(Int.MaxValue).toInt,
    timeoutMillis = thresholds(AqeConf.FilterBuildTimeout),
    slotMillis = thresholds(AqeConf.FilterSlotTimeout),
    sketchedKeys = thresholds(AqeConf.SketchMaxKeys).min(Int.MaxValue).toInt
  )

  private def pause(thresholds: Thresholds): SelfDisable = SelfDisable(
    thresholds(AqeConf.SelfDisableSampleBatches).min(Int.MaxValue).toInt,
    if (thresholds.openGates) 1.0 else thresholds(AqeConf.SelfDisableMaxPassRate),
    thresholds(AqeConf.SelfDisableSkipBatches).min(Int.MaxValue).toInt
  )
}
