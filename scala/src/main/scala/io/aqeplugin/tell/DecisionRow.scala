package io.aqeplugin.tell

import io.aqeplugin.decide.{JoinDecision, JoinFacts, JoinOption, JoinSaving, WeighedOption}
import io.aqeplugin.observe.{FilterOutcome, PlacedFilter}

/** One row: a decision with its query. */
final case class DecisionRow(query: KeptQuery, status: String, kept: KeptDecision) {
  def decision: JoinDecision = kept.decision
  def facts: JoinFacts = decision.facts

  /** The chosen option; none when the join was left to Spark. */
  def taken: Option[WeighedOption] = decision.options.find(isTaken)

  def isTaken(weighed: WeighedOption): Boolean = decision.taken.contains(weighed.option)

  /** The price of Spark's own plan. */
  def sparkCostMillis: Option[Double] =
    JoinOption.of(facts.sparkStrategy, withFilter = false).flatMap(spark => decision.options.find(_.option == spark)).flatMap(_.costMillis)

  /** The filters of the join in every place, those that ran first; none until the query has ended. */
  def filters: Option[Seq[FilterInPlace]] = query.end.map { end =>
    val ran = end.outcomes.filter(_.joinId == facts.joinId)
    val places = kept.filters.map(place => place.filterId -> place).toMap
    val ids = ran.iterator.map(_.filterId).toSet
    ran.map(outcome => FilterInPlace(places.get(outcome.filterId), Some(outcome))) ++
      kept.filters.filterNot(place => ids(place.filterId)).map(place => FilterInPlace(Some(place), None))
  }

  /** Where the decision changes; none until the query has ended. */
  def flips: Option[Seq[JoinFlip]] = query.end.map(_.flips.all.filter(_.joinId == facts.joinId))

  /** What the join saved; none until the query has ended, or if it ran as Spark runs it by itself. */
  def saving: Option[JoinSaving] = query.end.flatMap(_.savings.find(_.joinId == facts.joinId))

  /** The filters that ran. */
  def outcomes: Option[Seq[FilterOutcome]] = filters.map(_.flatMap(_.outcome))
}

/** One filter in one place: its placement and its outcome. At least one of the two is known. */
final case class FilterInPlace(place: Option[PlacedFilter], outcome: Option[FilterOutcome]) {
  def status: String = (outcome, place) match {
    case (Some(o), _) if !o.found           => "missing"
    case (Some(o), _) if o.reason.isDefined => "passed_all"
    case (Some(_), _)                       => "applied"
    case (None, Some(p)) if p.applied       => "not_started"
    case _                                  => "not_placed"
  }
}
