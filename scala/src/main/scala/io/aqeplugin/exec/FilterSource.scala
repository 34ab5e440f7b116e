package io.aqeplugin.exec

import scala.util.control.NonFatal

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

import io.aqeplugin.decide.Reason

/** Finds the filter below a source child of [[RuntimeFilterExec]]. AQE and the columnar rules wrap stages in code generation, row and column
  * transitions and shuffle reads; a source that is not found through them would be a filter that silently does nothing.
  */
object FilterSource {

  /** A filter that is there, in its stored form, or word that it lets every row pass. */
  final case class Found(broadcast: Broadcast[Array[Byte]], result: Either[Reason, FilterSummary])

  /** Why a planned filter is not there. */
  final case class Missing(what: String)

  /** The filter exchange below `source`, whatever is wrapped around it. */
  def exchange(source: SparkPlan): Option[RuntimeFilterExchangeExec] = source match {
    case e: RuntimeFilterExchangeExec => Some(e)
    case s: BroadcastQueryStageExec   =>
      // Any other broadcast, the join's own relation for one, is not a filter.
      s.broadcast match {
        case e: RuntimeFilterExchangeExec => Some(e)
        case _                            => None
      }
    case r: ReusedExchangeExec => exchange(r.child)
    case other                 => other.children.iterator.map(exchange).collectFirst { case Some(e) => e }
  }

  /** The filter of `source`, waiting for it no longer than its build may take. */
  def await(source: SparkPlan): Either[Missing, Found] = exchange(source) match {
    case None    => Left(Missing(s"no filter exchange below ${source.nodeName}"))
    case Some(e) =>
      try {
        val broadcast = e.executeBroadcast[Array[Byte]]()
        e.result.map(Found(broadcast, _)).toRight(Missing("its build is not done"))
      } catch { case NonFatal(error) => Left(Missing(error.toString)) }
  }
}

/** Makes the [[FilterProbe]] of one filter for one task. */
final case class ProbeFactory(broadcast: Broadcast[Array[Byte]], coder: KeyCoder, rest: SelfDisable, counters: FilterCounters) {

  /** Absent when the filter cannot be read: every row passes. */
  def open(): Option[FilterProbe] = {
    val filter = DecodedFilters.of(broadcast.value)
    if (filter.isEmpty) counters.faults.add(1L)
    filter.map(new FilterProbe(coder, _, rest, counters))
  }
}
