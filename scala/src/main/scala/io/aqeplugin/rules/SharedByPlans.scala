package io.aqeplugin.rules

import org.apache.spark.sql.execution.exchange.Exchange

import io.aqeplugin.decide.{Reason, ReasonCode}
import io.aqeplugin.observe.ByIdentity
import io.aqeplugin.place.Placement

/** The exchanges of one plan that other plans of the query may run too. AQE runs such an exchange once if it has the same filters in all of
  * them.
  *
  * The filters that the first plan has there when it is made are the most that any plan may have. A plan that runs later, such as a
  * subquery's, begins with the exchanges that it was made with, without asking the rules. If another plan has built all filters of such an
  * exchange, AQE finds the exchange too; if not, the exchange waits for a filter, and the rules are asked before it starts.
  */
private[rules] final class SharedByPlans(context: RuleContext) {
  private val keys = ByIdentity.empty[Exchange, AnyRef]

  /** Adds the exchanges among these that other plans may run. */
  def note(exchanges: Seq[Exchange]): Unit =
    exchanges.filterNot(keys.contains).filter(context.plans.mayShare).foreach(one => context.plans.keyOf(one).foreach(keys.update(one, _)))

  /** The placements that the other plans may have as well, and the others. */
  def within(placements: Seq[Placement]): (Seq[Placement], Seq[(Placement, Reason)]) =
    // A plan whose joins were passed by may have begun with the exchange as it was.
    split(placements)((key, _) => if (context.state.hasBegun) Some(Set.empty) else context.state.allowedOn(key))

  /** The filters that the plans agree on. */
  def agreed(filters: FiltersPerPlan): FiltersPerPlan = {
    val (kept, left) = split(filters.kept) { (key, joinIds) =>
      Some(context.state.agreeOn(key, joinIds, isSettled = joinIds.forall(context.state.decision(_).isDefined)))
    }
    FiltersPerPlan(kept.map(one => if (isShared(one)) one.copy(isOfSeveralPlans = true) else one), filters.refused ++ left)
  }

  /** @param allowed
    *   the joins that may have a filter in an exchange, by its key and the joins that want one there; none if all may
    */
  private def split(placements: Seq[Placement])(allowed: (AnyRef, Set[String]) => Option[Set[String]]) = {
    val joinIds = keys.toSeq.map { case (exchange, key) =>
      val own = placements.filter(isIn(_, exchange))
      own -> allowed(key, own.map(_.label.joinId).toSet)
    }
    val (left, kept) = placements.partition { one =>
      joinIds.exists { case (own, some) => own.exists(_ eq one) && !some.forall(_(one.label.joinId)) }
    }
    (kept, left.map(_ -> Reason(ReasonCode.ReusedExchange)))
  }

  private def isShared(placement: Placement): Boolean = keys.keysIterator.exists(isIn(placement, _))

  /** Whether a placement changes the exchange. */
  private def isIn(placement: Placement, exchange: Exchange): Boolean = exchange.exists(_ eq placement.request.target.node)
}
