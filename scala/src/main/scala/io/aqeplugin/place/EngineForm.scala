package io.aqeplugin.place

import org.apache.spark.sql.catalyst.expressions.{And, Attribute, Expression, InSet, IsNotNull, Literal, Or}
import org.apache.spark.sql.execution.{FilterExec, SparkPlan}
import org.apache.spark.sql.execution.exchange.Exchange

import io.aqeplugin.decide.{Reason, ReasonCode}
import io.aqeplugin.exec.{FilterSummary, RuntimeFilterExchangeExec}
import io.aqeplugin.observe.{Engine, LoweredFilters, QueryState}
import io.aqeplugin.storage.ScanAdapter

/** The second form of a filter: conditions that an engine carries out, in place of an operator that it does not know.
  *
  * @param waitMillis
  *   how long the query has run
  */
final class EngineForm(engine: Engine, waitMillis: Long, state: QueryState) {
  import EngineForm._

  // A filter that is finished meanwhile is not used for one copy of a scan alone.
  private val builds = state.buildsNow

  /** The result of an equal filter that another plan of the query has built. */
  def builtElsewhere(request: FilterRequest): Option[Either[Reason, FilterSummary]] = request.source match {
    case _: Exchange if builds.nonEmpty =>
      builds.get(EnginePlaces.canonical(request)).collect { case built: RuntimeFilterExchangeExec => built }.flatMap(_.result)
    case _ => None
  }

  /** A scan with the filters of one place, each alone or in a union; while one of them is not built, with what holds their place. */
  def placed(
      scan: SparkPlan,
      filters: Seq[Seq[(Placement, Option[Either[Reason, FilterSummary]])]],
      clockNanos: Option[Long]
  ): SparkPlan =
    if (filters.exists(_.exists(_._2.isEmpty))) {
      // The others are there, and would be waited for in vain.
      val waiting = filters.flatten.collect { case (placement, None) => placement }
      EnginePlaces.hold(FilterExec(hasKey(filters.head.head._1), scan), EnginePlaces.Waiting(waiting, clockNanos))
    } else
      filters.foldLeft(scan) { (below, union) =>
        val members = union.collect { case (placement, Some(result)) => placement -> result.flatMap(conditionOf(placement, _)) }
        val condition = members.map(_._2.map(_._1).getOrElse(hasKey(members.head._1))).reduce[Expression](Or(_, _))
        val all = members.collectFirst { case (_, Left(reason)) => reason }
        LoweredFilters.mark(
          FilterExec(all.fold(condition)(_ => hasKey(members.head._1)), below),
          members.map { case (placement, result) =>
            val anyOf = if (members.size > 1) members.head._1.label.filterId else ""
            placement.label.outcome(Some(all.toLeft(()).flatMap(_ => result.map(_._2))), waitMillis).copy(anyOf = anyOf)
          }
        )
      }

  private def conditionOf(placement: Placement, built: FilterSummary): Either[Reason, (Expression, FilterSummary)] = {
    val columns = columnsOf(placement)
    val known = ScanAdapter.conditions(columns, built, MostListed)
    val isListed = built.columns.size == 1 && known.exists(_.isInstanceOf[InSet])
    val hashed = built.hashed.filterNot(_ => isListed).map(_.mayHave(columns))
    val none = Option.when(built.rows == 0)(Literal.FalseLiteral)
    (none.toSeq ++ known ++ hashed).reduceOption[Expression](And(_, _)).map(_ -> built).toRight(Reason(
      ReasonCode.EngineKey,
      subject = engine.name
    ))
  }

  // A row without a key has no partner.
  private def hasKey(placement: Placement): Expression = columnsOf(placement).map(IsNotNull(_)).reduce[Expression](And(_, _))
}

object EngineForm {

  /** More values stand in no condition: it is a part of the plan's text. */
  private val MostListed = 16

  private def columnsOf(placement: Placement): Seq[Attribute] = placement.request.target.columns

  /** Whether an engine can check the keys of a target: columns, by values that it takes for equal where Spark does. */
  def isFor(engine: Engine, target: FilterTarget): Boolean =
    target.keys.forall { case column: Attribute => engine.hashes(column.dataType); case _ => false }
}
