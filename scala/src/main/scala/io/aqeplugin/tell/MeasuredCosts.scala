package io.aqeplugin.tell

import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.decide._
import io.aqeplugin.observe._

/** Attributes what Spark measured of a query's stages to the joins that were decided in it.
  *
  * What counts are the stages that a price is about: those that the probe side's rows come through, from their scans to the join, and the join's own. Of
  * their tasks' run time, of those that succeeded, the time of file scans, which Spark measures for itself in whole milliseconds a batch, is taken off.
  * Then there is the elapsed time of making the broadcast, if it was still to be made, and the filter. Waiting for a filter, and launching stages, are
  * not measured.
  */
object MeasuredCosts {

  /** One cost for each join that was decided.
    *
    * @param plan
    *   the final plan; none when Spark does not say
    */
  def of(state: QueryState, plan: Option[SparkPlan], failed: Boolean, outcomes: Seq[FilterOutcome]): Seq[JoinCost] = {
    val decisions = state.decided
    if (decisions.isEmpty) Nil
    else if (failed) decisions.map(unmeasured(_, Unmeasured.QueryFailed))
    else
      (plan, state.stages.runs) match {
        case (Some(known), Some(runs)) => new MeasuredCosts(state, decisions, known, runs, outcomes).costs
        case (None, _)                 => decisions.map(unmeasured(_, Unmeasured.StageNotSeen))
        case (_, None)                 => decisions.map(unmeasured(_, Unmeasured.TooManyStages))
      }
  }

  private def unmeasured(decision: JoinDecision, why: Unmeasured): JoinCost = JoinCost(decision.facts.joinId, Left(why))

  // Where the work of a price's terms is done; the others are the driver's.
  private val ToTheJoin = Set("pipeline", "shuffle", "filter check")
  private val InTheJoin = Set("sort", "merge", "hash probe")
  private val BroadcastTimes = Seq("collectTime", "buildTime", "broadcastTime")
}

/** What ran of a join, and its price. */
private final case class Ran(place: JoinPlace, option: JoinOption, predictedMillis: Double)

private final class MeasuredCosts(
    state: QueryState,
    decisions: Seq[JoinDecision],
    plan: SparkPlan,
    runs: Seq[StageRun],
    outcomes: Seq[FilterOutcome]
) {
  import MeasuredCosts._

  private val sides = decisions.map(decision => decision.facts.joinId -> decision.facts.buildSide).toMap
  private val layout = new StageParts(plan, sides.get)
  private val places = layout.joins.groupBy(_.join.id)

  def costs: Seq[JoinCost] = {
    val placed = decisions.map(decision => decision -> place(decision))
    val measurable = placed.collect { case (decision, Right(ran)) => (decision, ran) }
    val works = measurable.map { case (decision, ran) => work(decision, ran, measurable.map(_._2.place)) }
    val ids = works.map(_.joinId).toSet
    val stages = layout.parts.indices.flatMap(part => taken(part, ids).map(part -> _)).toMap
    val costs = CostShares.of(stages, works).map(cost => cost.joinId -> cost).toMap
    placed.map {
      case (decision, Left(why)) => unmeasured(decision, why)
      case (decision, Right(_))  => costs(decision.facts.joinId)
    }
  }

  /** Where and how the join ran, if that has a price. */
  private def place(decision: JoinDecision): Either[Unmeasured, Ran] = places.getOrElse(decision.facts.joinId, Nil) match {
    case Seq()                                            => Left(Unmeasured.NotInFinalPlan)
    case Seq(at) if (at.probe + at.part).exists(isLost)   => Left(Unmeasured.StageNotSeen)
    case Seq(at) if (at.probe + at.part).exists(ranAgain) => Left(Unmeasured.RanTwice)
    case Seq(at)                                          => ran(decision, at).toRight(Unmeasured.NotPriced)
    case _                                                => Left(Unmeasured.RanTwice)
  }

  private def ran(decision: JoinDecision, at: JoinPlace): Option[Ran] = {
    val facts = decision.facts
    val filters = outcomes.filter(_.joinId == facts.joinId)
    val worked = filters.count(outcome => outcome.found && outcome.reason.isEmpty)
    val option = (at.join.sparkStrategy, worked) match {
      case (Strategy.Broadcast, 0) => JoinOption.Broadcast
      case (Strategy.Broadcast, _) => JoinOption.FilteredBroadcast
      case (_, 0)                  => JoinOption.SortMerge
      case _                       => JoinOption.FilteredSortMerge
    }
    // Where the probe side's scans cannot be told any more, as when it has run, its shuffles are in no price.
    val hasShuffles = facts.probe.exchanges > 0 || (at.probe - at.part).isEmpty
    val isPriced = hasShuffles && at.join.broadcastSide.forall(_ == facts.buildSide) && (worked == 0 || worked == filters.size)
    decision.options
      .find(weighed => isPriced && weighed.strategy == option.strategy && weighed.withFilter == option.withFilter)
      .flatMap(_.costMillis)
      .map(Ran(at, option, _))
  }

  private def isLost(part: Int): Boolean = !layout.parts(part).isEmpty && runsOf(part).isEmpty

  private def ranAgain(part: Int): Boolean = runsOf(part).exists(_.again)

  private def runsOf(part: Int): Seq[StageRun] = runsByPart.getOrElse(part, Nil)

  /** Each run that is one part's and no other's; a part with a run that cannot be told from another part's has none. */
  private lazy val runsByPart: Map[Int, Seq[StageRun]] = {
    val matched = runs.map(run => run -> layout.parts.indices.filter(part => isOf(run, layout.parts(part))))
    val unclear = matched.collect { case (_, parts) if parts.size > 1 => parts }.flatten.toSet
    matched.collect { case (run, Seq(part)) if !unclear(part) => part -> run }.groupMap(_._1)(_._2)
  }

  private def isOf(run: StageRun, part: StagePart): Boolean =
    run.shuffleId == part.shuffleId && (run.shuffleId.isDefined || run.metrics.exists(part.metrics))

  private def taken(part: Int, measurable: Set[String]): Option[StageWork] = Some(runsOf(part)).filter(_.nonEmpty).map { ran =>
    val of = layout.parts(part)
    val taskMillis = math.max(0L, ran.map(_.runMillis).sum - of.scanMillis)
    StageWork(taskMillis.toDouble, of.otherWork || !of.joins.forall(measurable))
  }

  private def work(decision: JoinDecision, ran: Ran, all: Seq[JoinPlace]): JoinWork = {
    val at = ran.place
    val terms = termsOf(decision, ran.option)
    def sum(names: Set[String]): Double = terms.filter(term => names(term.name)).map(_.nanos).sum
    val before = at.probe - at.part
    val own = sum(InTheJoin) + (if (before.isEmpty) sum(ToTheJoin) else 0.0)
    val weights = before.iterator.map(part => part -> sum(ToTheJoin) / before.size).toMap + (at.part -> own)
    val driverMillis = broadcastMillis(decision, at, all) + (if (ran.option.withFilter) filterMillis(decision) else 0.0)
    JoinWork(decision.facts.joinId, ran.option, ran.predictedMillis, weights, driverMillis, decision.facts.cluster.slots)
  }

  private def termsOf(decision: JoinDecision, option: JoinOption): Seq[CostTerm] = {
    val thresholds = state.conf.fold(Thresholds.Default)(_.thresholds)
    val size = FilterSize.of(decision.facts.build, thresholds.filter)
    new CostModel(decision.facts, decision.passRate, size, thresholds.cost).terms(option)
  }

  /** Of a broadcast that several joins read, each has its part. */
  private def broadcastMillis(decision: JoinDecision, at: JoinPlace, all: Seq[JoinPlace]): Double =
    at.broadcast.filterNot(_ => decision.facts.build.alreadyBroadcast).fold(0.0) { exchange =>
      val readers = all.count(_.broadcast.exists(_ eq exchange))
      BroadcastTimes.flatMap(exchange.metrics.get).map(_.value.max(0L)).sum.toDouble / math.max(1, readers)
    }

  /** Of a filter that several joins asked for, each has its part. */
  private def filterMillis(decision: JoinDecision): Double = {
    val joinId = decision.facts.joinId
    val own = askedFor.filter(_._2 == joinId).map(_._1)
    val sharing = own.headOption.fold(1)(exchange => askedFor.collect { case (other, id) if other eq exchange => id }.distinct.size)
    outcomes.filter(_.joinId == joinId).map(_.buildMillis).maxOption.getOrElse(0L).toDouble / math.max(1, sharing)
  }

  /** The filters that ran, by what built them, and the joins that asked for them. */
  private lazy val askedFor: Seq[(SparkPlan, String)] = state.startedFilters.flatMap { node =>
    node.sources.zip(node.labels).flatMap { case (source, label) => StageParts.broadcastOf(source).map(_ -> label.joinId) }
  }
}
