package io.aqeplugin.observe

import scala.annotation.tailrec
import scala.collection.concurrent.TrieMap

import io.aqeplugin.decide.{JoinDecision, JoinFacts, Reason, ReasonCode, Side}

/** The state of one join in one query. It changes in one direction:
  * {{{
  * seen     no side has started: each planning may replace the estimate, and with it the build side
  * waiting  a side has started, and the build side is not measured yet: the estimate and the build side are fixed,
  *          but for what other uses of its scans and its shuffle do
  * decided  the build side was measured: the decision is fixed, but the placement of its filters may change
  * placed   the decision was returned for reporting, with the scans of its filters; it is returned only once
  * ended    the query has ended: nothing changes, and nothing is left to report
  * }}}
  * A state may be skipped. The transitions are pure. A transition that a state does not allow returns that state, so any thread may try any
  * transition at any time.
  */
sealed trait JoinLife {
  import JoinLife._

  /** The facts of the join before its build side is measured; none before the estimate and after the query has ended. */
  def estimate: Option[JoinFacts]

  /** The decision made from the measured build side. */
  def decision: Option[JoinDecision]

  /** Why the join is left alone while there is no decision. */
  def leftAlone: Option[LeftAlone]

  /** Where the join's filters were placed or not, by filter id. */
  def filters: Map[String, PlacedFilter]

  /** The wait of the probe side that has begun, unless its build side was measured. */
  def begunWait: Option[JoinWait]

  /** Adds an estimate. The first one counts; for a join that is already decided, the first one with the decided build side.
    *
    * @param sideRuns
    *   whether one side has started
    */
  def see(estimate: JoinFacts, sideRuns: Boolean): JoinLife = this match {
    case seen @ Seen(known, _, _, _) if sideRuns                  => seen.fixed(known.getOrElse(seen.afterWait(estimate)))
    case seen @ Seen(None, _, _, _)                               => seen.copy(estimate = Some(seen.afterWait(estimate)))
    case decided @ Decided(None, made, _) if isOf(made, estimate) => decided.copy(estimate = Some(estimate))
    case placed @ Placed(None, made, _) if isOf(made, estimate)   => placed.copy(estimate = Some(estimate))
    case other                                                    => other
  }

  /** The estimate with what became of the wait. */
  protected def afterWait(estimate: JoinFacts): JoinFacts = begunWait.fold(estimate)(_.inEstimate(estimate))

  /** Drops the estimate, so that the next planning makes a new one, unless a side has started. */
  def forgetEstimate: JoinLife = this match {
    case seen @ Seen(Some(_), _, _, _) => seen.copy(estimate = None)
    case other                         => other
  }

  /** Fixes the estimate because one side has started: a change of the build side would waste what the other side waited for. */
  def keepEstimate: JoinLife = this match {
    case seen @ Seen(Some(estimate), _, _, _) => seen.fixed(estimate)
    case other                                => other
  }

  /** Adds to an estimate with this build side what other uses of the join's scans and its shuffle do: their joins are decided one by one. */
  def seeOtherUses(buildSide: Side, passRate: Option[Double], shuffleShare: Option[Double]): JoinLife = {
    def now(estimate: JoinFacts) =
      if (estimate.buildSide == buildSide) estimate.copy(probe = estimate.probe.withOtherUses(passRate, shuffleShare)) else estimate
    this match {
      case seen: Seen       => seen.copy(estimate = seen.estimate.map(now))
      case waiting: Waiting => waiting.copy(kept = now(waiting.kept))
      case other            => other
    }
  }

  /** Begins the wait of the probe side, unless there is one. */
  def beginWait(wait: JoinWait): JoinLife = this match {
    case seen @ Seen(_, _, _, None)       => seen.copy(begunWait = Some(wait))
    case waiting @ Waiting(_, _, _, None) => waiting.copy(begunWait = Some(wait))
    case other                            => other
  }

  /** Changes a wait that is not over. */
  def changeWait(change: JoinWait => JoinWait): JoinLife = {
    def changed(wait: Option[JoinWait]): Option[JoinWait] = wait.map(one => if (one.isOver) one else change(one))
    this match {
      case seen: Seen if seen.begunWait.isDefined =>
        val after = seen.copy(begunWait = changed(seen.begunWait))
        after.copy(estimate = after.estimate.map(after.afterWait))
      case waiting: Waiting if waiting.begunWait.isDefined =>
        val after = waiting.copy(begunWait = changed(waiting.begunWait))
        after.copy(kept = after.afterWait(after.kept))
      case other => other
    }
  }

  /** Leaves the join alone for now. */
  def leaveAlone(why: LeftAlone): JoinLife = this match {
    case seen: Seen       => seen.copy(leftAlone = Some(why))
    case waiting: Waiting => waiting.copy(leftAlone = Some(why))
    case other            => other
  }

  /** Adds the decision; the first one counts.
    *
    * @param nowNanos
    *   when a wait for it ended, as `System.nanoTime`
    */
  def decide(decision: JoinDecision, nowNanos: Long): JoinLife = {
    def waited = begunWait.fold(decision)(_.inDecision(decision, nowNanos))
    this match {
      case Seen(estimate, _, filters, _)    => Decided(estimate, waited, filters)
      case Waiting(estimate, _, filters, _) => Decided(Some(estimate), waited, filters)
      case other                            => other
    }
  }

  /** Records where a filter went; until the query ends, the latest placement counts. */
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

  /** Marks a decided join as placed, so that its decision is reported once. */
  def place: JoinLife = this match {
    case Decided(estimate, decision, filters) => Placed(estimate, decision, filters)
    case other                                => other
  }

  /** Ends the state with the query. */
  def end: JoinLife = this match {
    case ended: Ended => ended
    case other        => Ended(other.decision, other.filters)
  }

  /** What is left to report of the join: its decision, or why it was left alone.
    *
    * @param filterRan
    *   a filter of the join ran. If there is no decision, AQE found the finished build side and filter in another part of the plan and
    *   continued without asking the rule.
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
    *   the facts of this judgement; while they are unchanged, so is the decision
    */
  final case class LeftAlone(by: AnyRef, decision: JoinDecision)

  /** @param estimate
    *   none when the join is not to be decided, or has to be estimated again
    */
  final case class Seen(
      estimate: Option[JoinFacts],
      leftAlone: Option[LeftAlone],
      filters: Map[String, PlacedFilter],
      begunWait: Option[JoinWait] = None
  ) extends JoinLife {
    override def decision: Option[JoinDecision] = None
    private[JoinLife] def fixed(estimate: JoinFacts): Waiting = Waiting(estimate, leftAlone, filters, begunWait)
  }

  final case class Waiting(
      kept: JoinFacts,
      leftAlone: Option[LeftAlone],
      filters: Map[String, PlacedFilter],
      begunWait: Option[JoinWait] = None
  ) extends JoinLife {
    override def estimate: Option[JoinFacts] = Some(kept)
    override def decision: Option[JoinDecision] = None
  }

  final case class Decided(estimate: Option[JoinFacts], made: JoinDecision, filters: Map[String, PlacedFilter]) extends JoinLife {
    override def decision: Option[JoinDecision] = Some(made)
    override def leftAlone: Option[LeftAlone] = None
    override def begunWait: Option[JoinWait] = None
  }

  final case class Placed(estimate: Option[JoinFacts], made: JoinDecision, filters: Map[String, PlacedFilter]) extends JoinLife {
    override def decision: Option[JoinDecision] = Some(made)
    override def leftAlone: Option[LeftAlone] = None
    override def begunWait: Option[JoinWait] = None
  }

  final case class Ended(decision: Option[JoinDecision], filters: Map[String, PlacedFilter]) extends JoinLife {
    override def estimate: Option[JoinFacts] = None
    override def leftAlone: Option[LeftAlone] = None
    override def begunWait: Option[JoinWait] = None
  }

  /** A join without any facts. */
  val Unseen: JoinLife = Seen(None, None, Map.empty)
}

/** The states of the joins of one query, by join id. Thread-safe: a transition that loses a race is repeated on the new state. */
final class JoinLives {
  private val lives = TrieMap.empty[String, JoinLife]

  def apply(joinId: String): JoinLife = lives.getOrElse(joinId, JoinLife.Unseen)

  def ids: Seq[String] = lives.keysIterator.toSeq

  /** The states before and after a transition; the same state if nothing changed. */
  @tailrec
  def change(joinId: String)(transition: JoinLife => JoinLife): (JoinLife, JoinLife) = {
    val known = lives.get(joinId)
    val before = known.getOrElse(JoinLife.Unseen)
    val after = transition(before)
    val isDone = (after eq before) || known.fold(lives.putIfAbsent(joinId, after).isEmpty)(lives.replace(joinId, _, after))
    if (isDone) (before, after) else change(joinId)(transition)
  }
}
