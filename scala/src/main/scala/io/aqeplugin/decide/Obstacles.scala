package io.aqeplugin.decide

/** Why the options of a join may not be taken, before any price: they would change the answer, exceed a hard limit or not fit into memory. */
private[decide] final class Obstacles(facts: JoinFacts, thresholds: Thresholds) {

  val filterSize: FilterSize = FilterSize.of(facts.build, thresholds)

  private val ofAnyFilter = FilterChoice.illegal(facts, filterSize, thresholds)

  /** Why the method may not be taken; none when it may. */
  def ofMethod(method: Method): Option[Reason] = method match {
    case Method.Broadcast    => BroadcastChoice.ruledOut(facts, thresholds).orElse(overBudget(JoinOption.Broadcast))
    case Method.ShuffledHash => ShuffledHashChoice.ruledOut(facts, thresholds)
    case Method.SortMerge    => if (facts.build.alreadyBroadcast) Some(Reason(ReasonCode.AlreadyBroadcast)) else None
  }

  /** Why the method may not have a filter; none when it may. */
  def ofFilter(method: Method): Option[Reason] =
    ofAnyFilter.orElse(withoutTarget(method)).orElse(overBudget(JoinOption(method, withFilter = true)))

  private def withoutTarget(method: Method): Option[Reason] =
    if (method == Method.Broadcast && facts.probe.isBeforeOwnExchange) Some(Reason(ReasonCode.NoTargetScan)) else None

  private def overBudget(option: JoinOption): Option[Reason] = MemoryBudget.exceeded(facts, option, thresholds)
}
