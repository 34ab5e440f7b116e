package io.aqeplugin.exec

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

import io.aqeplugin.decide.Reason
import io.aqeplugin.filters.AnyOf
import io.aqeplugin.metrics.{Faults, Survivable}

/** Finds the filter below a source child of [[RuntimeFilterExec]]. AQE and the columnar rules wrap stages in code generation, row and
  * column transitions and shuffle reads. A source that could not be found through them would be a filter that silently does nothing.
  */
object FilterSource {

  /** A finished build: the filter in its stored form, or the reason why every row passes. */
  final case class Found(broadcast: Broadcast[Array[Byte]], result: Either[Reason, FilterSummary])

  /** A planned filter is not available, which is a fault. */
  final case class Missing(fault: Throwable)

  /** The filter exchange below `source`, through anything that wraps it. */
  def exchange(source: SparkPlan): Option[RuntimeFilterExchangeExec] = source match {
    case e: RuntimeFilterExchangeExec => Some(e)
    case s: BroadcastQueryStageExec   =>
      // Any other broadcast, such as the join's own relation, is not a filter.
      s.broadcast match {
        case e: RuntimeFilterExchangeExec => Some(e)
        case _                            => None
      }
    case r: ReusedExchangeExec => exchange(r.child)
    case other                 => other.children.iterator.map(exchange).collectFirst { case Some(e) => e }
  }

  /** The filter of `source`. Waits at most as long as its build may take. */
  def await(source: SparkPlan): Either[Missing, Found] = exchange(source) match {
    case None    => Left(missing(s"there is no filter exchange below ${source.nodeName}"))
    case Some(e) =>
      try {
        val broadcast = e.executeBroadcast[Array[Byte]]()
        e.result.map(Found(broadcast, _)).toRight(missing("the build of the filter has not finished"))
      } catch { case Survivable(error) if !SparkBridge.isCancellation(error) => Left(Missing(error)) }
  }

  private def missing(what: String): Missing = Missing(new IllegalStateException(what))
}

/** Makes the [[FilterProbe]] of one filter, or of the union of several, for one task.
  *
  * @param broadcasts
  *   the filters, all over the keys that `coder` reads; a row passes if it passes one of them
  */
final case class ProbeFactory(
    broadcasts: Seq[Broadcast[Array[Byte]]],
    coder: KeyCoder,
    pause: SelfDisable,
    counters: FilterCounters
) {

  /** None if one of the filters cannot be read: every row passes. */
  def open(): Option[FilterProbe] = {
    // Spark runs a task again that cannot fetch a broadcast.
    val stored = broadcasts.map(_.value)
    val probe =
      try {
        val filters = stored.map(DecodedFilters.of)
        if (filters.exists(_.isEmpty)) None
        else
          filters.flatten match {
            case Seq(only) => Some(new FilterProbe(coder, only, pause, counters))
            case members   => Some(new FilterProbe(coder, new AnyOf(members.toArray), pause, counters))
          }
      } catch {
        case Survivable(error) =>
          Faults.note("filter read", "a task continues without the filter", error)
          None
      }
    if (probe.isEmpty) counters.faults.add(1L)
    probe
  }
}
