package io.aqeplugin.observe

import scala.annotation.tailrec
import scala.collection.concurrent.TrieMap

import io.aqeplugin.decide.{JoinDecision, Reason, ReasonCode}

/** What one query remembers of one join. A life goes one way:
  * {{{
  * seen     estimated anew whenever the query is planned
  * waiting  one side runs, so its side and estimate stay as they are
  * decided  the build side was measured, and the decision was made
  * placed   the decision is written down, with the scans that its filters went to
  * ended    the query has ended
  * }}}
  * A state may be left out. The transitions are pure; one that a state does not allow gives that very state, so any of them may be tried by any
  * thread and at any time.
  */
sealed trait JoinLife {
  import JoinLife._

  /** None before the join was estimated, and after its query has ended. */
  def estimate: Option[JoinEstimate]

  /** The decision that was made from the measured build side. */
  def decision: Option[JoinDecision]

  /** Why the join is left alone, while nothing is decided. */
  def refusal: Option[Refusal]

  /** Where filters of the join went, or did not go, by filter id. */
  def filters: Map[String, PlacedFilter]

  /** The join was estimated. The first estimate counts; of a join that is decided already, the first one of the side that was decided on.
    *
    * @param runs
    *   one side runs already
    */
  def see(estimate: JoinEstimate, runs: Boolean): JoinLife = this match {
    case Seen(known, refusal, filters) if runs                    => Waiting(known.getOrElse(estimate), refusal, filters)
    case Seen(None, refusal, filters)                             => Seen(Some(estimate), refusal, filters)
    case decided @ Decided(None, made, _) if isOf(made, estimate) => decided.copy(estimate = Some(estimate))
    case placed @ Placed(None, made, _) if isOf(made, estimate)   => placed.copy(estimate = Some(estimate))
    case other                                                    => other
  }

  /** The estimate is out of date, unless one side runs. */
  def forget: JoinLife = this match {
    case seen @ Seen(Some(_), _, _) => seen.copy(estimate = None)
    case other                      => other
  }

  /** One side of an estimated join runs. */
  def start: JoinLife = this match {
    case Seen(Some(estimate), refusal, filters) => Waiting(estimate, refusal, filters)
    case other                                  => other
  }

  /** The join is left alone for now. */
  def refuse(refusal: Refusal): JoinLife = this match {
    case seen: Seen       => seen.copy(refusal = Some(refusal))
    case waiting: Waiting => waiting.copy(refusal = Some(refusal))
    case other            => other
  }

  /** The first decision counts. */
  def decide(decision: JoinDecision): JoinLife = this match {
    case Seen(estimate, _, filters)    => Decided(estimate, decision, filters)
    case Waiting(estimate, _, filters) => Decided(Some(estimate), decision, filters)
    case other                         => other
  }

  /** The latest word on a filter counts, until the query ends. */
  def place(filter: PlacedFilter): JoinLife = {
    def all = filters.updated(filter.filterId, filter)
    this match {
      case seen: Seen       => seen.copy(filters = all)
      case waiting: Waiting => waiting.copy(filters = all)
      case decided: Decided => decided.copy(filters = all)
      case placed: Placed   => placed.copy(filters = all)
      case ended: Ended     => ended
    }
  }

  /** The decision is written down. */
  def write: JoinLife = this match {
    case Decided(estimate, decision, filters) => Placed(estimate, decision, filters)
    case other                                => other
  }

  /** The query has ended. */
  def end: JoinLife = this match {
    case ended: Ended => ended
    case other        => Ended(other.decision, other.filters)
  }

  /** What is still to be written down of the join: its decision, or else why it was left alone.
    *
    * @param filterRan
    *   a filter of the join ran. Without a decision it was put in to wait, and then AQE had the build side and the filter already, from another
    *   place of the plan, and went on without asking.
    */
  def unwritten(filterRan: Boolean): Option[JoinDecision] = this match {
    case Decided(_, decision, _) => Some(decision)
    case _: Seen | _: Waiting    =>
      val ready = Reason(ReasonCode.FilterReady)
      val refused = refusal.map(_.decision)
      if (filterRan) refused.map(_.copy(reason = ready, buildFilter = true, filterReason = ready)) else refused
    case _: Placed | _: Ended => None
  }
}

object JoinLife {

  private def isOf(decision: JoinDecision, estimate: JoinEstimate): Boolean = decision.facts.buildSide == estimate.buildSide

  /** Why a join is left alone for now.
    *
    * @param by
    *   what it was judged by; while that is the same, so is the decision
    */
  final case class Refusal(by: AnyRef, decision: JoinDecision)

  /** @param estimate none when the join is not to be decided, or is to be estimated anew */
  final case class Seen(estimate: Option[JoinEstimate], refusal: Option[Refusal], filters: Map[String, PlacedFilter]) extends JoinLife {
    override def decision: Option[JoinDecision] = None
  }

  final case class Waiting(known: JoinEstimate, refusal: Option[Refusal], filters: Map[String, PlacedFilter]) extends JoinLife {
    override def estimate: Option[JoinEstimate] = Some(known)
    override def decision: Option[JoinDecision] = None
  }

  final case class Decided(estimate: Option[JoinEstimate], made: JoinDecision, filters: Map[String, PlacedFilter]) extends JoinLife {
    override def decision: Option[JoinDecision] = Some(made)
    override def refusal: Option[Refusal] = None
  }

  final case class Placed(estimate: Option[JoinEstimate], made: JoinDecision, filters: Map[String, PlacedFilter]) extends JoinLife {
    override def decision: Option[JoinDecision] = Some(made)
    override def refusal: Option[Refusal] = None
  }

  final case class Ended(decision: Option[JoinDecision], filters: Map[String, PlacedFilter]) extends JoinLife {
    override def estimate: Option[JoinEstimate] = None
    override def refusal: Option[Refusal] = None
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
