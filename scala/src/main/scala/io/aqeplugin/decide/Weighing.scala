package io.aqeplugin.decide

import io.aqeplugin.conf.AqeConf

/** The price of a method, whether it gets a filter, and why. */
private[decide] final case class Priced(method: Method, nanos: Double, withFilter: Boolean, filterReason: Reason) {
  def option: JoinOption = JoinOption(method, withFilter)
}

/** Prices and compares the options of one join. */
private[decide] final class Weighing(facts: JoinFacts, thresholds: Thresholds) {
  private val obstacles = new Obstacles(facts, thresholds)
  private val estimated = PassRate.estimate(facts, obstacles.filterSize, thresholds)
  private val passRate = estimated.value
  private val terms: Map[JoinOption, Seq[CostTerm]] = {
    val model = new CostModel(facts, passRate, obstacles.filterSize, thresholds)
    JoinOption.All.map(option => option -> model.terms(option)).toMap
  }
  private val filterGated = FilterChoice.gated(facts, passRate, thresholds)
  private val methodRefusals: Map[Method, Option[Reason]] = Method.All.map(method => method -> obstacles.ofMethod(method)).toMap

  /** Leaves the method to Spark for `reason`. The filter is still decided, unless `reason` forbids it. */
  def leave(reason: Reason): JoinDecision = {
    val filter = opened(priced(facts.sparkMethod))
    val options = JoinOption.All.map(option => weighed(option, refusal(option).getOrElse(reason)))
    JoinDecision(facts, Strategy.LeaveToSpark, reason, filter.withFilter, filter.filterReason, passRate, estimated.source, options)
  }

  /** Chooses a method for a join whose probe side has started for `reason`: a hash join of the two shuffles, if that is clearly cheaper than
    * sorting them. Anything else would have had to come before.
    */
  def chooseStarted(reason: Reason): JoinDecision = {
    val (hash, sort) = (nanos(JoinOption.ShuffledHash), nanos(JoinOption.SortMerge))
    val hashes =
      facts.sparkMethod == Method.SortMerge && methodRefusals(Method.ShuffledHash).isEmpty && thresholds.isClearlyCheaper(hash, sort)
    val left = leave(reason)
    if (!hashes) left
    else {
      val cheapest = against(ReasonCode.Cheapest, hash, sort)
      val options = left.options.map { weighed =>
        weighed.option match {
          case JoinOption.ShuffledHash => weighed.copy(reason = cheapest)
          case JoinOption.SortMerge    => weighed.copy(reason = against(ReasonCode.Costlier, sort, hash))
          case _                       => weighed
        }
      }
      left.copy(choice = Strategy.ShuffledHash, reason = cheapest, options = options)
    }
  }

  def choose: JoinDecision = {
    val (choice, reason) = cheapest
    val taken = opened(choice)
    val options = JoinOption.All.map { option =>
      if (option == taken.option) weighed(option, reason)
      else weighed(option, refusal(option).getOrElse(notTaken(option, taken)))
    }
    JoinDecision(facts, taken.option.strategy, reason, taken.withFilter, taken.filterReason, passRate, estimated.source, options)
  }

  private def cheapest: (Priced, Reason) = {
    // One is always allowed: a sort-merge join, or the broadcast that exists.
    val byPrice = Method.All.filter(methodRefusals(_).isEmpty).map(priced).sortBy(_.nanos)
    val best = byPrice.head
    if (facts.build.alreadyBroadcast) (best, Reason(ReasonCode.AlreadyBroadcast))
    else
      byPrice.find(_.method == facts.sparkMethod) match {
        case Some(spark) if spark.method != best.method && !isWorthAChange(best.nanos, spark.nanos) =>
          // Of two equal prices that of Spark's own plan is the least.
          (spark, against(if (spark.nanos <= best.nanos) ReasonCode.Cheapest else ReasonCode.Tie, spark.nanos, best.nanos))
        case Some(spark) if spark.method != best.method => (best, against(ReasonCode.Cheapest, best.nanos, spark.nanos))
        case _                                          =>
          val next = byPrice.lift(1).map(other => millis(other.nanos))
          (best, Reason(ReasonCode.Cheapest, Some(millis(best.nanos)), next, "millis"))
      }
  }

  /** The method, with a filter if that pays. */
  private def priced(method: Method): Priced = {
    val plain = nanos(JoinOption(method, withFilter = false))
    filterRefusal(method) match {
      case Some(reason) => Priced(method, plain, withFilter = false, reason)
      case None         =>
        val filtered = nanos(JoinOption(method, withFilter = true))
        if (thresholds.isClearlyCheaper(filtered, plain))
          Priced(method, filtered, withFilter = true, against(ReasonCode.FilterPays, filtered, plain))
        else {
          val code = if (filtered < plain) ReasonCode.Tie else ReasonCode.FilterCostsMore
          Priced(method, plain, withFilter = false, against(code, filtered, plain))
        }
    }
  }

  /** With open gates, a legal filter is built even if it does not pay. */
  private def opened(choice: Priced): Priced =
    if (thresholds.openGates && !choice.withFilter && obstacles.ofFilter(choice.method).isEmpty)
      choice.copy(withFilter = true, filterReason = Reason(ReasonCode.GatesOpen, confKey = AqeConf.TestOpenGates.key))
    else choice

  /** Why an option was not taken, depending on whether it differs from the chosen one in the method or only in the filter. */
  private def notTaken(option: JoinOption, taken: Priced): Reason = {
    val (its, takens) = (nanos(option), nanos(taken.option))
    if (option == JoinOption(taken.method, withFilter = true)) taken.filterReason
    else if (its > takens) against(ReasonCode.Costlier, its, takens)
    else against(if (thresholds.openGates) ReasonCode.GatesOpen else ReasonCode.Tie, its, takens)
  }

  private def refusal(option: JoinOption): Option[Reason] =
    methodRefusals(option.method).orElse(if (option.withFilter) filterRefusal(option.method) else None)

  private def filterRefusal(method: Method): Option[Reason] = obstacles.ofFilter(method).orElse(filterGated)

  private def weighed(option: JoinOption, reason: Reason): WeighedOption = {
    val isPriced = refusal(option).isEmpty && facts.build.rows >= 0
    if (isPriced) WeighedOption(option, Some(CostModel.millis(terms(option))), reason, terms(option).filter(_.nanos > 0))
    else WeighedOption(option, None, reason)
  }

  private def nanos(option: JoinOption): Double = terms(option).map(_.nanos).sum

  /** Whether a method is clearly cheaper than Spark's own. A broadcast of Spark's is given up only for more than the launch of a stage, since
    * without it other stages run.
    */
  private def isWorthAChange(nanos: Double, spark: Double): Boolean = thresholds.isClearlyCheaper(nanos, spark) &&
    (facts.sparkMethod != Method.Broadcast || spark - nanos > thresholds(AqeConf.CostJobLaunchNanos))

  private def against(code: ReasonCode, nanos: Double, other: Double): Reason = {
    val confKey = code match {
      case ReasonCode.Tie       => tieKey(math.min(nanos, other), math.max(nanos, other))
      case ReasonCode.GatesOpen => AqeConf.TestOpenGates.key
      case _                    => ""
    }
    Reason(code, Some(millis(nanos)), Some(millis(other)), "millis", confKey)
  }

  /** The limit that makes a tie of two prices. */
  private def tieKey(lower: Double, higher: Double): String =
    if (thresholds.isClearlyCheaper(lower, higher)) AqeConf.CostJobLaunchNanos.key else AqeConf.CostTieRatio.key

  private def millis(nanos: Double): Double = nanos / CostModel.NanosPerMilli
}
