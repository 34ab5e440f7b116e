package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf

/** The price of a method, whether it gets a filter, and why. */
private[decide] final case class Priced(method: Method, nanos: Double, withFilter: Boolean, filterReason: Reason) {
  def option: JoinOption = JoinOption(method, withFilter)
}

/** Prices and compares the options of one join. */
private[decide] final class Weighing(facts: JoinFacts, thresholds: Thresholds) {
  private val filterSize = FilterSize.of(facts.build, thresholds)
  private val estimated = PassRate.estimate(facts, filterSize, thresholds)
  private val passRate = estimated.value
  private val terms: Map[JoinOption, Seq[CostTerm]] = {
    val model = new CostModel(facts, passRate, filterSize, thresholds)
    JoinOption.All.map(option => option -> model.terms(option)).toMap
  }
  private val filterIllegal = FilterChoice.illegal(facts, filterSize, thresholds)
  private val filterGated = FilterChoice.gated(facts, passRate, thresholds)
  private val broadcastRefusal = BroadcastChoice.ruledOut(facts, thresholds).orElse(overBudget(JoinOption.Broadcast))
  private val sortMergeRefusal = if (facts.build.alreadyBroadcast) Some(Reason(ReasonCode.AlreadyBroadcast)) else None

  /** Leaves the method to Spark for `reason`. The filter is still decided, unless `reason` forbids it. */
  def leave(reason: Reason): JoinDecision = {
    val filter = opened(priced(facts.sparkMethod))
    val options = JoinOption.All.map(option => weighed(option, refusal(option).getOrElse(reason)))
    JoinDecision(facts, None, reason, filter.withFilter, filter.filterReason, passRate, estimated.source, options)
  }

  def choose: JoinDecision = {
    val (choice, reason) = cheapest
    val taken = opened(choice)
    val options = JoinOption.All.map { option =>
      if (option == taken.option) weighed(option, reason)
      else weighed(option, refusal(option).getOrElse(notTaken(option, taken)))
    }
    JoinDecision(facts, Some(taken.method), reason, taken.withFilter, taken.filterReason, passRate, estimated.source, options)
  }

  private def cheapest: (Priced, Reason) = {
    val broadcast = priced(Method.Broadcast)
    val sortMerge = priced(Method.SortMerge)
    if (broadcastRefusal.isDefined) (sortMerge, Reason(ReasonCode.Cheapest, Some(millis(sortMerge.nanos)), None, "millis"))
    else if (sortMergeRefusal.isDefined) (broadcast, Reason(ReasonCode.AlreadyBroadcast))
    else {
      val (spark, other) = if (facts.sparkMethod == Method.Broadcast) (broadcast, sortMerge) else (sortMerge, broadcast)
      if (isClearlyCheaper(other.nanos, spark.nanos)) (other, against(ReasonCode.Cheapest, other.nanos, spark.nanos))
      else if (spark.nanos <= other.nanos) (spark, against(ReasonCode.Cheapest, spark.nanos, other.nanos))
      else (spark, against(ReasonCode.Tie, spark.nanos, other.nanos))
    }
  }

  /** The method, with a filter if that pays. */
  private def priced(method: Method): Priced = {
    val plain = nanos(JoinOption(method, withFilter = false))
    filterRefusal(method) match {
      case Some(reason) => Priced(method, plain, withFilter = false, reason)
      case None         =>
        val filtered = nanos(JoinOption(method, withFilter = true))
        if (isClearlyCheaper(filtered, plain)) Priced(method, filtered, withFilter = true, against(ReasonCode.FilterPays, filtered, plain))
        else {
          val code = if (filtered < plain) ReasonCode.Tie else ReasonCode.FilterCostsMore
          Priced(method, plain, withFilter = false, against(code, filtered, plain))
        }
    }
  }

  /** With open gates, a legal filter is built even if it does not pay. */
  private def opened(choice: Priced): Priced =
    if (thresholds.openGates && !choice.withFilter && mayNotFilter(choice.method).isEmpty)
      choice.copy(withFilter = true, filterReason = Reason(ReasonCode.GatesOpen, confKey = AqeConf.TestOpenGates.key))
    else choice

  /** Why an option was not taken, depending on whether it differs from the chosen one in the method or only in the filter. */
  private def notTaken(option: JoinOption, taken: Priced): Reason = {
    val (its, takens) = (nanos(option), nanos(taken.option))
    if (option == JoinOption(taken.method, withFilter = true)) taken.filterReason
    else if (its > takens) against(ReasonCode.Costlier, its, takens)
    else against(if (thresholds.openGates) ReasonCode.GatesOpen else ReasonCode.Tie, its, takens)
  }

  private def refusal(option: JoinOption): Option[Reason] = {
    val method = if (option.method == Method.Broadcast) broadcastRefusal else sortMergeRefusal
    method.orElse(if (option.withFilter) filterRefusal(option.method) else None)
  }

  private def filterRefusal(method: Method): Option[Reason] = mayNotFilter(method).orElse(filterGated)
  private def mayNotFilter(method: Method): Option[Reason] = filterIllegal.orElse(overBudget(JoinOption(method, withFilter = true)))
  private def overBudget(option: JoinOption): Option[Reason] = MemoryBudget.exceeded(facts, option, thresholds)

  private def weighed(option: JoinOption, reason: Reason): WeighedOption = {
    val isPriced = refusal(option).isEmpty && facts.build.rows >= 0
    if (isPriced) WeighedOption(option, Some(CostModel.millis(terms(option))), reason, terms(option).filter(_.nanos > 0))
    else WeighedOption(option, None, reason)
  }

  private def nanos(option: JoinOption): Double = terms(option).map(_.nanos).sum

  private def isClearlyCheaper(nanos: Double, than: Double): Boolean = than - nanos > thresholds(AqeConf.CostTieRatio) * than

  private def against(code: ReasonCode, nanos: Double, other: Double): Reason = {
    val confKey =
      if (code == ReasonCode.Tie) AqeConf.CostTieRatio.key else if (code == ReasonCode.GatesOpen) AqeConf.TestOpenGates.key else ""
    Reason(code, Some(millis(nanos)), Some(millis(other)), "millis", confKey)
  }

  private def millis(nanos: Double): Double = nanos / CostModel.NanosPerMilli
}
