package io.aqeplugin.rules

import java.util.concurrent.TimeUnit

import scala.collection.mutable

import org.apache.spark.sql.execution.adaptive.QueryStageExec

import io.aqeplugin.conf.Mode
import io.aqeplugin.decide._
import io.aqeplugin.exec.MeasuredKeys
import io.aqeplugin.observe.{ClusterSize, JoinWait}
import io.aqeplugin.place.JoinSite

/** Checks the waits of one plan, and says when to check them again. */
private[rules] final class WaitClocks(context: RuleContext, nowNanos: Long) {
  private val checks = mutable.ArrayBuffer.empty[Long]

  /** The soonest check that is due, as `System.nanoTime`; none if no wait of the plan can end before its build side has finished. */
  def nextNanos: Option[Long] = checks.minOption

  /** The estimate of an undecided join, whose wait is released if it no longer pays. */
  def checked(joinId: String, estimate: JoinFacts, site: JoinSite): JoinFacts =
    if (context.mode != Mode.Apply || !context.isExecution) estimate
    else
      estimate.waiting.filter(_.waits).flatMap(current(joinId, estimate, _, site)) match {
        case Some(wait) =>
          checks ++= wait.checkNanos.filterNot(_ => wait.isOver)
          wait.in(estimate)
        case None => estimate
      }

  private def current(joinId: String, estimate: JoinFacts, wait: WaitDecision, site: JoinSite): Option[JoinWait] =
    context.state.waitOnce(joinId)(begun(estimate, wait)).flatMap { begun =>
      if (begun.isOver || begun.checkNanos.forall(_ > nowNanos)) Some(begun)
      else context.state.changeWait(joinId)(check(_, wait, site))
    }

  private def begun(estimate: JoinFacts, wait: WaitDecision): JoinWait = {
    val first = if (WaitClock.isOn(estimate)) Some(nowNanos + nanos(WaitClock.firstCheckMillis(wait, context.thresholds))) else None
    JoinWait(nowNanos, first)
  }

  private def check(begun: JoinWait, wait: WaitDecision, site: JoinSite): JoinWait =
    WaitClock.check(wait, progress(begun, site), context.thresholds) match {
      case Left(reason)      => begun.release(wait, reason, nowNanos)
      case Right(nextMillis) => begun.copy(checkNanos = Some(begun.startNanos + nanos(nextMillis)))
    }

  private def progress(begun: JoinWait, site: JoinSite): WaitProgress = {
    val (done, tasks) = site.source.collect { case (stage: QueryStageExec, _) => MeasuredKeys.progress(stage) }.flatten.getOrElse((0, 0))
    WaitProgress(
      begun.waitedMillis(nowNanos),
      done,
      tasks,
      context.cluster.slots,
      ClusterSize.idleShare(context.sparkContext, context.cluster)
    )
  }

  private def nanos(millis: Double): Long = (millis * TimeUnit.MILLISECONDS.toNanos(1)).toLong
}
