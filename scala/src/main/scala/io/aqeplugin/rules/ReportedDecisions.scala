package io.aqeplugin.rules

import scala.util.hashing.MurmurHash3

import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, Exchange}

import io.aqeplugin.conf.{AqeConf, Mode}
import io.aqeplugin.decide.{Reason, ReasonCode}
import io.aqeplugin.exec.FilterLabel
import io.aqeplugin.observe.{JoinId, JoinKey, PlacedFilter, QueryState}
import io.aqeplugin.place.FilterTarget
import io.aqeplugin.storage.ScanName
import io.aqeplugin.tell.DecisionLog

/** Records the placements of filters, and reports new decisions with them. */
private[rules] object ReportedDecisions {

  def report(filters: FiltersPerPlan, context: RuleContext): Unit = if (context.isExecution) {
    val applied = context.mode == Mode.Apply
    val reason = if (applied) Reason(ReasonCode.FilterPays) else Reason(ReasonCode.ObserveMode, confKey = modeKey(context))
    filters.kept.foreach { placement =>
      val ofUnion = Reason(ReasonCode.UnionOfUses, Some(placement.expectedPassRate), None, "ratio")
      note(context.state, placement.label, applied, if (applied && placement.union.isDefined) ofUnion else reason)
    }
    filters.refused.foreach { case (placement, why) => note(context.state, placement.label, applied = false, why) }
    context.state.reportDecided().foreach(DecisionLog.record(context.sparkContext, context.state, context.mode, _))
  }

  /** The joins of some queries are only observed, whatever the conf says. */
  private def modeKey(context: RuleContext): String =
    if (context.thresholds.settings.mode == Mode.Observe) AqeConf.ModeKey.key else ""

  def note(state: QueryState, label: FilterLabel, applied: Boolean, reason: Reason): Unit =
    state.noteFilter(PlacedFilter(label.filterId, label.joinId, label.table, label.columns, applied, reason))

  /** The name of a join's filter in one place, equal in all plans of a query. */
  def labelOf(target: FilterTarget, joinId: String, why: String): FilterLabel = {
    val table = if (target.isScan) ScanName.of(target.scan) else exchangeName(target.exchanges.headOption)
    val filterId = MurmurHash3.stringHash(s"$joinId>$table>${target.keys.map(JoinId.text).mkString(",")}").toHexString
    FilterLabel(filterId, joinId, table, target.keys.map(JoinKey.nameOf), why)()
  }

  /** What stands below an exchange has another name when it has run. */
  private def exchangeName(exchange: Option[Exchange]): String = exchange match {
    case Some(_: BroadcastExchangeLike) => "(broadcast)"
    case _                              => "(shuffle)"
  }
}
