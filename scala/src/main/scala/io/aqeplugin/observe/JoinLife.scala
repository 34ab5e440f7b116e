package io.aqeplugin.observe

import scala.annotation.tailrec
import scala.collection.concurrent.TrieMap

import io.aqeplugin.decide.{JoinDecision, JoinFacts, Reason, ReasonCode}

/** What one query remembers of one join. A life goes one way:
  * {{{
  * seen     neither side runs: the estimate, and with it the build side, may be made anew whenever the query is planned
  * waiting  a side runs, and the join waits for its build side to be measured: the estimate and the build side stay
  * decided  the build side was measured, and the decision stays; where its filters go may still change
  * placed   the decision was handed out to be reported, with the scans that its filters went to, and is not handed out again
  * ended    the query has ended: nothing changes any more, and nothing is left to be reported
  * }}}
  * A state may be left out. The transitions are pure; one that a state does not allow gives that very state, so any of them may be tried by any
  * thread and at any time.
  */
sealed trait JoinLife {
  import JoinLife._

  /** The facts of the join before its build side is measured; none before they were estimated, and after the query has ended. */
  def estimate: Option[JoinFacts]

  /** The decision that was made from the measured build side. */
  def decision: Option[JoinDecision]

  /** Why the join is left alone, while nothing is decided. */
  def leftAlone: Option[LeftAlone]

  /** Where filters of the join went, or did not go, by filter id. */
  def filters: Map[String, PlacedFilter]

  /** The join was estimated. The first estimate counts; of a join that is decided already, the first one of the side that was decided on.
    *
    * @param sideRuns
    *   one side runs already
    */
  def see(estimate: JoinFacts, sideRuns: Boolean): JoinLife = this match {
    case Seen(known, leftAlone, filters) if sideRuns              => Waiting(known.getOrElse(estimate), leftAlone, filters)
    case Seen(None, leftAlone, filters)                           => Seen(Some(estimate), leftAlone, filters)
    case decided @ Decided(None, made, _) if isOf(made, estimate) => decided.copy(estimate = Some(estimate))
    case placed @ Placed(None, made, _) if isOf(made, estimate)   => placed.copy(estimate = Some(estimate))
    case other                                                    => other
  }

  /** Neither side runs, so the estimate is to be made anew. */
  def forgetEstimate: JoinLife = this match {
    case seen @ Seen(Some(_), _, _) => seen.copy(estimate = None)
    case other                      => other
  }

  /** One side of an estimated join runs: if the build side flipped from now on, what the other side waited for would be thrown away. */
  def keepEstimate: JoinLife = this match {
    case Seen(Some(estimate), leftAlone, filters) => Waiting(estimate, leftAlone, filters)
    case other                                    => other
  }

  /** The join is left alone for now. */
  def leaveAlone(why: LeftAlone): JoinLife = this match {
    case seen: Seen       => seen.copy(leftAlone = Some(why))
    case waiting: Waiting => waiting.copy(leftAlone = Some(why))
    case other            => other
  }

  /** The first decision counts. */
  def decide(decision: JoinDecision): JoinLife = this match {
    case Seen(estimate, _, filters)    => Decided(estimate, decision, filters)
    case Waiting(estimate, _, filters) => Decided(Some(estimate), decision, filters)
    case other                         => other
  }

  /** Where a filter went. The latest word on a filter counts, until the query ends. */
  def noteFilter(filter: PlacedFilter): JoinLife = {
    def all = filters.updated(filter.filterId, filter)
    this match {
      case seen: Seen       => seen.copy(filters = all)
      case waiting: Waiting => waiting.copy(filters = all)
      case decided: Decided => decided.copy(filters = all)
      case placed: Placed   => placed.copy(filters = all)
      case ended: Ended     => ended
    }
  }

  /** The filters of a decided join have their scans, and its decision is handed out to be reported. */
  def place: JoinLife = this match {
    case Decided(estimate, decision, filters) => Placed(estimate, decision, filters)
    case other                                => other
  }

  /** The query has ended. */
  def end: JoinLife = this match {
    case ended: Ended => ended
    case other        => Ended(other.decision, other.filters)
  }

  /** What is still to be reported of the join: its decision, or else why it was left alone.
    *
    * @param filterRan
    *   a filter of the join ran. Without a decision it was put in to wait, and then AQE had the build side and the filter already, from another
    *   place of the plan, and went on without asking.
    */
  def unreported(filterRan: Boolean): Option[JoinDecision] = this match {
    case Decided(_, decision, _) => Some(decision)
    case _: Seen | _: Waiting    =>
      val ready = Reason(ReasonCode.FilterReady)
      val undecided = leftAlone.map(_.decision)
      if (filterRan) undecided.map(_.copy(reason = ready, buildFilter = true, filterReason = ready)) else undecided
    case _: Placed | _: Ended => None
  }
}

object JoinLife {

  private def isOf(decision: JoinDecision, estimate: JoinFacts): Boolean = decision.facts.buildSide == estimate.buildSide

  /** Why a join is left alone for now.
    *
    * @param by
    *   what it was judged by; while that is the same, so is the decision
    */
  final case class LeftAlone(by: AnyRef, decision: JoinDecision)

  /** @param estimate none when the join is not to be decided, or is to be estimated anew */
  final case class Seen(estimate: Option[JoinFacts], leftAlone: Option[LeftAlone], filters: Map[String, PlacedFilter]) extends JoinLife {
    override def decision: Option[JoinDecision] = None
  }

  final case class Waiting(kept: JoinFacts, leftAlone: Option[LeftAlone], filters: Map[String, PlacedFilter]) extends JoinLife {
    override def estimate: Option[JoinFacts] = Some(kept)
    override def decision: Option[JoinDecision] = None
  }

  final case class Decided(estimate: Option[JoinFacts], made: JoinDecision, filters: Map[String, PlacedFilter]) extends JoinLife {
    override def decision: Option[JoinDecision] = Some(made)
    override def leftAlone: Option[LeftAlone] = None
  }

  final case class Placed(estimate: Option[JoinFacts], made: JoinDecision, filters: Map[String, PlacedFilter]) extends JoinLife {
    override def decision: Option[JoinDecision] = Some(made)
    override def leftAlone: Option[LeftAlone] = None
  }

  final case class Ended(decision: Option[JoinDecision], filters: Map[String, PlacedFilter]) extends JoinLife {
    override def estimate: Option[JoinFacts] = None
    override def leftAlone: Option[LeftAlone] = None
  }

  /** A join of which nothing is known. */
  val Unseen: JoinLife = Seen(None, None, Map.empty)
}

/** The lives of the joins of one query, by join id. Thread-safe: a transition that loses against another thread's is tried again on what that made. */
final class JoinLives {
  private val lives = TrieMap.empty[String, JoinLife]

  def apply(joinId: String): JoinLife = lives.getOrElse(joinId, JoinLife.Unseen)

  def ids: Seq[String] = lives.keysIterator.toSeq

  /** The states before and after a transition; the same one when it changed nothing. */
  @tailrec
  def change(joinId: String)(transition: JoinLife => JoinLife): (JoinLife, JoinLife) = {
    val known = lives.get(joinId)
    val before = known.getOrElse(JoinLife.Unseen)
    val after = transition(before)
    val isDone = (after eq before) || known.fold(lives.putIfAbsent(joinId, after).isEmpty)(lives.replace(joinId, _, after))
    if (isDone) (before, after) else change(joinId)(transition)
  }
}
