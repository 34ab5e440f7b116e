package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf

/** A wait at one moment.
  *
  * @param waitedMillis
  *   time since the wait began
  * @param stageMillis
  *   time since the stage that the build side now waits for was first seen, at most `waitedMillis`
  * @param doneTasks
  *   finished tasks of the build side's stage; 0 when it has not started or is not counted
  * @param tasks
  *   all tasks of that stage; 0 when unknown
  * @param slots
  *   number of tasks that can run at once
  * @param idleShare
  *   share of the slots that run no task of any query, in [0, 1]
  * @param idleBefore
  *   whether the check before, of the same stage, found them to cost too much
  */
final case class WaitProgress(
    waitedMillis: Double,
    stageMillis: Double,
    doneTasks: Int,
    tasks: Int,
    slots: Int,
    idleShare: Double,
    idleBefore: Boolean
)

/** The next check of a wait that goes on.
  *
  * @param afterMillis
  *   milliseconds since the wait began
  * @param isIdle
  *   whether idle slots cost too much by now
  */
final case class NextCheck(afterMillis: Double, isIdle: Boolean)

/** Decides, while a probe side waits, whether it goes on waiting. A wait that began because it pays ends when what is still to come would
  * leave slots idle for longer than the saving is worth.
  *
  * {{{
  * remaining   stage's time × (tasks - done - running / 2) / (done + running / 2), with every task that can run half done;
  *             while no task is known to be done, as long as the stage has lasted or the build side is predicted to last
  * goes on     remaining × idle share ≤ wait.savingShare × estimated saving at this check or the one before, and waited < wait.limit
  * }}}
  * One look at the slots says little: AQE plans as soon as a stage has ended, when what it will run next has no slot yet. Time that has
  * passed is lost either way and does not count. Each check, but one that finds idle slots, schedules the next at least a quarter of the
  * waited time later, so that a wait has few of them. Pure and total.
  */
object WaitClock {

  /** Whether a wait can end before its build side has finished: not if the probe side's scan cannot start before that in any case, and not
    * if the wait was asked for and not priced.
    */
  def isOn(facts: JoinFacts): Boolean =
    facts.waiting.exists(wait => wait.waits && wait.reason.code == ReasonCode.WaitPays) && !facts.probeWaitsAnyway

  /** When a wait is checked first, in milliseconds since it began. */
  def firstCheckMillis(wait: WaitDecision, thresholds: Thresholds): Double = {
    val soonest = math.min(wait.buildMillis, believed(wait, thresholds))
    math.min(math.max(soonest, thresholds(AqeConf.WaitCheckAfter).toDouble), thresholds(AqeConf.WaitLimit).toDouble)
  }

  /** Why the wait ends now, or when to check it again. */
  def check(wait: WaitDecision, progress: WaitProgress, thresholds: Thresholds): Either[Reason, NextCheck] = {
    val waited = progress.waitedMillis
    val limit = thresholds(AqeConf.WaitLimit).toDouble
    val remaining = remainingMillis(wait, progress)
    val idle = remaining * progress.idleShare
    val isIdle = idle > believed(wait, thresholds)
    if (waited >= limit) Left(released(waited, limit, AqeConf.WaitLimit.key))
    else if (isIdle && progress.idleBefore) Left(released(idle, believed(wait, thresholds), AqeConf.WaitSavingShare.key))
    else {
      val shortest = thresholds(AqeConf.WaitCheckAfter).toDouble
      // Slots that are busy now may be idle soon, and cost the saving no sooner than this.
      val soonest = math.min(remaining, believed(wait, thresholds))
      val step = if (isIdle) shortest else Seq(shortest, waited / ChecksPerWaited, soonest).max
      Right(NextCheck(math.min(waited + step, limit), isIdle))
    }
  }

  private val ChecksPerWaited = 4

  private def remainingMillis(wait: WaitDecision, progress: WaitProgress): Double =
    if (progress.doneTasks <= 0) math.max(progress.stageMillis, wait.buildMillis)
    else {
      val left = math.max(0, progress.tasks - progress.doneTasks)
      val running = math.min(left, math.max(1, progress.slots)) / 2.0
      progress.stageMillis * (left - running) / (progress.doneTasks + running)
    }

  private def believed(wait: WaitDecision, thresholds: Thresholds): Double = wait.savingMillis * thresholds(AqeConf.WaitSavingShare)

  private def released(measured: Double, limit: Double, confKey: String): Reason =
    Reason(ReasonCode.WaitReleased, Some(measured), Some(limit), "millis", confKey)
}
