package io.aqeplugin.rules

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.execution.{FilterExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{LogicalQueryStage, QueryStageExec}

import io.aqeplugin.conf.{AqeConf, Mode}
import io.aqeplugin.decide.WorthLooking
import io.aqeplugin.observe.{PassedBy, QueryState, QuickLook, RowCheck, Same}
import io.aqeplugin.place.{PlaceFilters, RepeatedShuffles}
import io.aqeplugin.storage.SelectedFiles
import io.aqeplugin.tell.{ExplainSection, ExplainText}

/** Makes probe sides wait for their build sides, and places filters on their scans.
  *
  * AQE calls it on the whole plan when a query starts and after every finished stage, each time with a new plan. Where all joins of a query can save
  * less than it costs to look at them ([[WorthLooking]]), the plan stays as it is. Else, for one join:
  *   1. The build side has not finished: [[io.aqeplugin.decide.WaitPrice]] decides whether the probe side waits. If so, the filter is
  *      placed at once; it is a stage that needs the build side's stage, so the probe side waits for both. If the build side is yet to start,
  *      the filter is held back by a clock, and placed in the plan after.
  *   1. While it waits, [[WaitClocks]] checks the wait from time to time, and releases it when it no longer pays.
  *   1. The build side has finished: the join is decided, by [[ChooseJoinStrategy]] one step earlier or here from the same facts. A filter
  *      that pays stays; otherwise it is left out, and the probe side starts.
  *   1. The filter is ready: its range or values go into the scan, so that partitions, files and row groups without a key are not read.
  */
final case class WaitAndPlaceFilters(session: SparkSession, mostStages: Int = WaitAndPlaceFilters.MostStages)
    extends SafeRule[SparkPlan](session) {

  /** Each plan that AQE makes comes of a logical one, in which what has run is a leaf. */
  override protected def concerns(plan: SparkPlan): Boolean = plan.logicalLink.forall(_.containsPattern(TreePattern.JOIN))

  override protected def change(original: SparkPlan, context: RuleContext): SparkPlan = {
    val checked = if (context.engine.isDefined) withoutRowChecks(original) else original
    val plan = if (context.mode == Mode.Apply) RepeatedShuffles.without(checked) else checked
    if (isWithoutEnd(plan, context)) plan
    else {
      if (!context.state.isLookedAt) lookOrPassBy(plan, context)
      // Another plan of the query may be looked at since, which must know of all that are not.
      if (context.state.isLookedAt) looked(plan, context) else plan
    }
  }

  /** Whether a query has so many stages of Spark's own that each plan seems to make new ones, as those that [[RepeatedShuffles]] tells of did: AQE
    * takes any plan in place of one in which a clock ended. Plans without clocks, it compares.
    */
  private def isWithoutEnd(plan: SparkPlan, context: RuleContext): Boolean = {
    val stages = plan.collect { case stage: QueryStageExec => stage.id + 1 }.maxOption.getOrElse(0)
    val isOver = stages > mostStages
    if (isOver)
      context.state.once(WaitAndPlaceFilters)(
        RuleContext.noteFault(
          session.sparkContext,
          ruleName,
          new IllegalStateException(s"a query has $stages stages, more than $mostStages")
        )
      )
    isOver
  }

  /** Notes whether the joins of a plan may save more than it costs to look at them. A stage may turn out larger than was thought, so each plan is asked
    * anew.
    */
  private def lookOrPassBy(plan: SparkPlan, context: RuleContext): Unit = {
    val passed =
      if (isStreaming(plan)) None
      else
        for {
          logical <- plan.logicalLink
          read <- QuickLook.of(logical, plan, context.cluster.facts.slots, sizeOf(_, context.state))
          reason <- WorthLooking.refused(read, context.thresholds)
        } yield PassedBy(plan, read, reason, context.engine)
    passed.fold(context.state.look())(passBy(_, context))
  }

  private def passBy(found: PassedBy, context: RuleContext): Unit = if (!context.pruning.isOwnPlan(found.plan)) {
    val kept = if (context.isExecution) context.state.passBy(found) else found
    kept.line.tell(kept, isWaiting = false) {
      // A query that runs, if only now, is not held up by it.
      val runs = context.isExecution || RuleContext.executionId(session.sparkContext).isDefined
      if (runs) ExplainText.passedBy(kept.read.joins, kept.reason) else wouldPassBy(found, context)
    }
    // The other plan may have cleared the lines before.
    if (context.state.isLookedAt) kept.line.tell(context.state, isWaiting = false)("")
    ExplainSection.note(found.plan, Seq(kept.line))
  }

  /** What EXPLAIN says of a plan that a run passes by, and of its joins. They are looked at in a copy: the plan stays as it runs. */
  private def wouldPassBy(found: PassedBy, context: RuleContext): String = {
    val copy = found.plan.clone()
    val _ = looked(copy, context)
    val ofJoins = ExplainSection.linesIn(copy).filterNot(_ eq found.line).map(_.text)
    (ExplainText.wouldPassBy(found.read.joins, found.reason) +: ofJoins).mkString("\n")
  }

  /** AQE plans anew after each stage, mostly with the same tables. */
  private def sizeOf(leaf: LogicalPlan, state: QueryState): Option[QuickLook.Size] = leaf match {
    case stage: LogicalQueryStage => QuickLook.sizeOf(stage)
    case table => state.once(Same(table))(QuickLook.sizeOf(table).map(_.copy(files = SelectedFiles.listedOf(table).getOrElse(0L))))
  }

  private def looked(plan: SparkPlan, context: RuleContext): SparkPlan = {
    val stripped = PlaceFilters.strip(plan)
    val wanted = new WantedFilters(stripped, context)
    if (wanted.isEmpty || isStreaming(stripped) || context.pruning.isOwnPlan(stripped)) {
      plan
    } else {
      wanted.beginReadingTables()
      val chosen = wanted.chosen(context.thresholds(AqeConf.FilterMaxPerScan).toInt)
      ReportedDecisions.report(chosen, context)
      if (context.mode != Mode.Apply) {
        plan
      } else {
        val rewritten =
          if (chosen.kept.isEmpty && wanted.sketched.isEmpty) stripped
          else
            PlacingBySettings.placing(chosen.kept, wanted.sketched, wanted.nextCheckNanos, context, stripped, context.engine)(stripped)
        // Only a plan that had filters before can be unchanged.
        if ((stripped ne plan) && rewritten == plan) plan else rewritten
      }
    }
  }

  /** Scans have their conditions by now; what is left an engine must know. */
  private def withoutRowChecks(plan: SparkPlan): SparkPlan = plan.transformUp {
    case filter: FilterExec if filter.condition.exists(_.isInstanceOf[RowCheck]) =>
      filter.transformExpressions { case RowCheck(condition) => condition }
  }

  private def isStreaming(plan: SparkPlan): Boolean = plan.logicalLink.exists(_.isStreaming)
}

object WaitAndPlaceFilters {

  /** Stages of a query with hundreds of joins, its filters and clocks included. */
  private val MostStages = 5000
}
