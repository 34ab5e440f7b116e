package io.aqeplugin.decide

import io.aqeplugin.conf.{AqeConf, ForcedMethod, ForcedOption}

/** Forces one join to an option as far as that is legal. An illegal method leaves the model's, and an illegal filter is not built; the
  * reason is the obstacle. The options have the prices that the model would give them if the probe side were waiting; those that another one
  * was forced over say so, and the others have the model's reasons.
  */
private[decide] final class ForcedChoice(facts: JoinFacts, option: ForcedOption, thresholds: Thresholds) {

  private val obstacles = new Obstacles(facts, thresholds)
  private val forced = Reason(ReasonCode.Forced, confKey = AqeConf.Force.key)

  def decide: JoinDecision = {
    val unstarted = DecideJoin.ofModel(facts.copy(probe = facts.probe.copy(started = false)), thresholds)
    val model = if (facts.probe.started) DecideJoin.ofModel(facts, thresholds) else unstarted
    def unless(obstacle: Option[Reason], method: Method): (Option[Method], Reason) =
      obstacle.fold[(Option[Method], Reason)]((Some(method), forced))((model.method, _))
    val (method, reason) = option.method match {
      case ForcedMethod.OfModel      => (model.method, model.reason)
      case ForcedMethod.OfSpark      => (None, forced)
      case ForcedMethod.Broadcast    => unless(broadcastObstacle, Method.Broadcast)
      case ForcedMethod.ShuffledHash => unless(fixedMethod.orElse(obstacles.ofMethod(Method.ShuffledHash)), Method.ShuffledHash)
      case ForcedMethod.SortMerge    => unless(obstacles.ofMethod(Method.SortMerge).orElse(fixedMethod), Method.SortMerge)
    }
    val filterRefusal = if (option.withFilter) obstacles.ofFilter(method.getOrElse(facts.sparkMethod)) else None
    val buildFilter = option.withFilter && filterRefusal.isEmpty
    def isForcedOver(weighed: WeighedOption): Boolean =
      if (weighed.costMillis.isDefined) reason == forced || filterRefusal.isEmpty && weighed.option.withFilter != buildFilter
      else weighed.option.withFilter && weighed.reason.code == ReasonCode.NoTargetScan && isForcedToStart
    val alone = if (isForcedToStart) unstarted else model
    // What would have been chosen before the probe side started.
    def isNoLongerOpen(weighed: WeighedOption): Boolean = method.isEmpty && unstarted.taken.contains(weighed.option)
    unstarted.copy(
      facts = facts,
      choice = method.fold[Strategy](Strategy.LeaveToSpark)(JoinOption(_, buildFilter).strategy),
      reason = reason,
      buildFilter = buildFilter,
      filterReason = filterRefusal.getOrElse(forced),
      options = unstarted.options.map { weighed =>
        if (isForcedOver(weighed)) weighed.copy(reason = forced)
        else if (isNoLongerOpen(weighed)) weighed.copy(reason = model.reason)
        else weighed
      },
      unforced = Some(Unforced(alone.choice, alone.reason, alone.buildFilter, alone.filterReason))
    )
  }

  /** Whether the probe side started without a filter because an option that needs none was forced: its scans cannot be reached any more. */
  private def isForcedToStart: Boolean = facts.waiting.exists(wait => !wait.waits && wait.reason == forced)

  /** Whether the option needs a probe side that waits, and if so, whether that is possible; none if the model decides.
    *
    * @param modelled
    *   the wait that the model estimates
    */
  def waiting(modelled: WaitDecision): Option[WaitDecision] = {
    val broadcastsAnew = option.method == ForcedMethod.Broadcast && facts.sparkStrategy != Strategy.Broadcast
    val isNeeded = option.withFilter || broadcastsAnew
    if (!isNeeded && option.method == ForcedMethod.OfModel) None
    else {
      // The size of the filter is not known yet.
      val obstacle = FilterChoice.illegal(facts, FilterSize(0, exact = true), thresholds)
      Some(modelled.copy(waits = isNeeded && obstacle.isEmpty, reason = obstacle.getOrElse(forced)))
    }
  }

  /** A join of two shuffles needs no probe side that has not started; a broadcast does. */
  private def broadcastObstacle: Option[Reason] =
    if (facts.probe.started && facts.sparkStrategy != Strategy.Broadcast) Some(facts.whyStarted)
    else fixedMethod.orElse(obstacles.ofMethod(Method.Broadcast))

  private def fixedMethod: Option[Reason] = DecideJoin.whyFixed(facts)
}
