package io.aqeplugin.rules

import scala.collection.mutable

import org.apache.spark.sql.execution.adaptive.QueryStageExec

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide._
import io.aqeplugin.exec.MeasuredKeys
import io.aqeplugin.observe.{ClusterSize, FoundJoin, JoinWait}
import io.aqeplugin.place.JoinSite
import io.aqeplugin.sketch.SketchProgress

/** Checks the waits of one plan, and says when to check them again. */
private[rules] final class WaitClocks(context: RuleContext, nowNanos: Long) {
  private val checks = mutable.ArrayBuffer.empty[Long]

  /** The soonest check that is due, as `System.nanoTime`; none if no wait of the plan can end before its build side has finished. */
  def nextNanos: Option[Long] = checks.minOption

  /** The estimate of an undecided join, whose wait is released if it no longer pays. */
  def checked(join: FoundJoin, estimate: JoinFacts, site: JoinSite): JoinFacts =
    if (context.mode != Mode.Apply || !context.isExecution) estimate
    else
      estimate.waiting match {
        // Once the scans have started, nothing waits in front of an exchange instead.
        case Some(wait) if wait.waits && site.isAsEstimated(estimate.probe) =>
          val begun = current(join, estimate, wait, site)
          checks ++= begun.filterNot(_.isOver).flatMap(_.checkNanos)
          begun.fold(estimate)(_.inEstimate(estimate))
        case Some(_) => context.state.changeWait(estimate.joinId)(_.drop(nowNanos)).fold(estimate)(_.inEstimate(estimate))
        case None    => estimate
      }

  /** Ends the wait of a join none of whose filters has a place, so that its probe side does not wait. */
  def drop(joinId: String): Unit = { val _ = context.state.changeWait(joinId)(_.drop(nowNanos)) }

  private def current(join: FoundJoin, estimate: JoinFacts, wait: WaitDecision, site: JoinSite): Option[JoinWait] = {
    val side = join.child(estimate.buildSide)
    val stage =
      if (ownStage(site).isDefined) JoinWait.Stage(isOwn = true, left = 1, runs = true, nowNanos)
      else JoinWait.Stage(isOwn = false, StagesBelow.left(side), StagesBelow.runs(side), nowNanos)
    context.state
      .waitOnce(estimate.joinId)(begun(estimate, wait, stage))
      .flatMap(_ => context.state.changeWait(estimate.joinId)(_.goOn(stage, context.thresholds)(check(_, wait, site))))
  }

  private def begun(estimate: JoinFacts, wait: WaitDecision, stage: JoinWait.Stage): JoinWait = {
    val first =
      if (WaitClock.isOn(estimate)) Some(nowNanos + JoinWait.nanos(WaitClock.firstCheckMillis(wait, context.thresholds))) else None
    JoinWait(nowNanos, stage, first)
  }

  private def check(begun: JoinWait, wait: WaitDecision, site: JoinSite): JoinWait =
    WaitClock.check(wait, progress(begun, ownStage(site).flatMap(MeasuredKeys.progress)), context.thresholds) match {
      case Left(reason) => begun.release(wait, reason, nowNanos)
      case Right(next)  => begun.until(next)
    }

  // Executors come and go while a query runs.
  private lazy val slots = ClusterSize.of(context.sparkContext).slots
  private lazy val idleShare = ClusterSize.idleShare(context.sparkContext, slots)

  private def progress(begun: JoinWait, seen: Option[SketchProgress]): WaitProgress = {
    val (done, tasks) = seen.fold((0, 0))(now => (now.doneTasks, now.tasks))
    WaitProgress(begun.waitedMillis(nowNanos), begun.stageMillis(nowNanos), done, tasks, slots, idleShare, begun.isIdle)
  }

  private def ownStage(site: JoinSite): Option[QueryStageExec] = site.source.collect { case (stage: QueryStageExec, _) => stage }
}
