package io.aqeplugin.observe

import scala.annotation.tailrec
import scala.collection.concurrent.TrieMap

import io.aqeplugin.decide._

/** All that one query knows of one join. Both rules read it by the join's name, which is the same in every plan: AQE makes the nodes of both
  * plans anew each time. It changes in one direction:
  * {{{
  * seen     no side has started: each planning may replace the estimate, and with it the build side
  * waiting  a side has started, and the build side is not measured yet: the estimate and the build side are fixed,
  *          but for what other uses of its scans and its shuffle do
  * decided  the build side was measured: the decision is fixed, but the placement of its filters may change
  * reported the decision was returned for reporting, with the scans of its filters; it is returned only once
  * ended    the query has ended: nothing changes, and nothing is left to report
  * }}}
  * A state may be skipped. The transitions are pure. A transition that a state does not allow returns that state, so any thread may try any
  * transition at any time.
  *
  * @param estimate
  *   the facts of the join before its build side is measured; none before the estimate and after the query has ended
  * @param isFixed
  *   whether a side has started, so that the estimate stays
  * @param begunWait
  *   the wait of the probe side that has begun, unless its build side was measured
  * @param leftAlone
  *   why the join is left alone while there is no decision
  * @param decision
  *   made from the measured build side
  * @param filters
  *   where the join's filters were placed or not, by filter id
  * @param scans
  *   the scans that its keys reach, in each of the plans that have it
  * @param samples
  *   samples of those scans, the latest first
  */
final case class JoinLife private (
    estimate: Option[JoinFacts] = None,
    isFixed: Boolean = false,
    begunWait: Option[JoinWait] = None,
    leftAlone: Option[JoinLife.LeftAlone] = None,
    decision: Option[JoinDecision] = None,
    isReported: Boolean = false,
    isEnded: Boolean = false,
    filters: Map[String, PlacedFilter] = Map.empty,
    scans: Map[JoinId, Seq[ReachedScan]] = Map.empty,
    samples: Seq[TakenSample] = Nil
) {
  import JoinLife._

  /** Whether it is seen or waiting. */
  private def isOpen: Boolean = decision.isEmpty && !isEnded

  /** Adds an estimate. The first one counts; for a join that is already decided, the first one with the decided build side.
    *
    * @param sideRuns
    *   whether one side has started
    */
  def see(made: JoinFacts, sideRuns: Boolean): JoinLife =
    if (isEnded) this
    else {
      val seen = estimate.orElse(Some(afterWait(made)).filter(now => decision.forall(_.facts.buildSide == now.buildSide)))
      copy(estimate = seen, isFixed = isFixed || sideRuns)
    }

  /** The estimate with what became of the wait. */
  private def afterWait(estimate: JoinFacts): JoinFacts = begunWait.fold(estimate)(_.inEstimate(estimate))

  /** Drops the estimate, so that the next planning makes a new one, unless a side has started. */
  def forgetEstimate: JoinLife = if (isOpen && !isFixed && estimate.isDefined) copy(estimate = None) else this

  /** Fixes the estimate because one side has started: a change of the build side would waste what the other side waited for. */
  def keepEstimate: JoinLife = if (isFixed || estimate.isEmpty) this else copy(isFixed = true)

  /** Adds to an estimate with this build side what other uses of the join's scans and its shuffle do: their joins are decided one by one. */
  def seeOtherUses(buildSide: Side, passRate: Option[Double], shuffleShare: Option[Double]): JoinLife = {
    def now(estimate: JoinFacts) =
      if (estimate.buildSide == buildSide) estimate.copy(probe = estimate.probe.withOtherUses(passRate, shuffleShare)) else estimate
    if (isOpen) copy(estimate = estimate.map(now)) else this
  }

  /** Begins the wait of the probe side, unless there is one. */
  def beginWait(wait: JoinWait): JoinLife = if (isOpen && begunWait.isEmpty) copy(begunWait = Some(wait)) else this

  /** Changes a wait that is not over. */
  def changeWait(change: JoinWait => JoinWait): JoinLife =
    if (!isOpen || begunWait.forall(_.isOver)) this
    else {
      val after = copy(begunWait = begunWait.map(change))
      after.copy(estimate = estimate.map(after.afterWait))
    }

  /** Leaves the join alone for now. */
  def leaveAlone(why: LeftAlone): JoinLife = if (isOpen) copy(leftAlone = Some(why)) else this

  /** Adds the decision; the first one counts.
    *
    * @param nowNanos
    *   when a wait for it ended, as `System.nanoTime`
    */
  def decide(made: JoinDecision, nowNanos: Long): JoinLife =
    if (isOpen) copy(decision = Some(begunWait.fold(made)(_.inDecision(made, nowNanos))), begunWait = None, leftAlone = None) else this

  /** Records where a filter went; until the query ends, the latest placement counts. */
  def noteFilter(filter: PlacedFilter): JoinLife = if (isEnded) this else copy(filters = filters.updated(filter.filterId, filter))

  /** Records the scans that the keys reach in the plan that has it as `join`, in place of those before. */
  def reach(join: JoinId, now: Seq[ReachedScan]): JoinLife = if (isEnded) this else copy(scans = scans.updated(join, now))

  /** The scans in all plans. */
  def reached: Iterable[ReachedScan] = scans.values.flatten

  /** Whether no scan got the filter, for want of room or because an exchange is shared. Mode observe decides as if it had. */
  def isRefused: Boolean =
    filters.nonEmpty && filters.values.forall(filter => !filter.applied && filter.reason.code != ReasonCode.ObserveMode)

  /** Records a sample; of one scan, the first one counts. */
  def sample(taken: TakenSample): JoinLife =
    if (isEnded) this
    else {
      val (ofScan, others) = samples.partition(_.isOf(taken.buildSide, taken.columns))
      copy(samples = ofScan.headOption.getOrElse(taken) +: others)
    }

  /** Marks a decided join as reported: its decision is returned once. */
  def report: JoinLife = if (unreportedDecision.isDefined) copy(isReported = true) else this

  /** The decision, unless it was reported. */
  def unreportedDecision: Option[JoinDecision] = decision.filterNot(_ => isReported || isEnded)

  /** Ends the state with the query. */
  def end: JoinLife = if (isEnded) this else JoinLife(decision = decision, isEnded = true, filters = filters)

  /** What is left to report of the join: its decision, or why it was left alone.
    *
    * @param filterRan
    *   a filter of the join ran. If there is no decision, AQE found the finished build side and filter in another part of the plan and
    *   continued without asking the rule.
    */
  def unreported(filterRan: Boolean): Option[JoinDecision] = unreportedDecision.orElse {
    val ready = Reason(ReasonCode.FilterReady)
    val undecided = leftAlone.filter(_ => isOpen).map(_.decision)
    if (filterRan) undecided.map(_.copy(reason = ready, buildFilter = true, filterReason = ready)) else undecided
  }
}

object JoinLife {

  /** Why a join is left alone for now.
    *
    * @param by
    *   the facts of this judgement; while they are unchanged, so is the decision
    */
  final case class LeftAlone(by: AnyRef, decision: JoinDecision)

  /** A join without any facts. */
  val Unseen: JoinLife = JoinLife()
}

/** The states of the joins of one query, by join id. Thread-safe: a transition that loses a race is repeated on the new state. */
final class JoinLives {
  private val lives = TrieMap.empty[String, JoinLife]

  def apply(joinId: String): JoinLife = lives.getOrElse(joinId, JoinLife.Unseen)

  def all: Seq[(String, JoinLife)] = lives.toSeq

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
