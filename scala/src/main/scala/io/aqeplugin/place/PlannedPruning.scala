package io.aqeplugin.place

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, DynamicPruning, DynamicPruningExpression, Literal}
import org.apache.spark.sql.execution.{InSubqueryExec, SparkPlan, SubqueryAdaptiveBroadcastExec}
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.exchange.BroadcastExchangeLike

import io.aqeplugin.storage.ScanAdapter

/** What Spark's dynamic partition pruning of a plan takes its values from. AQE plans that when a scan starts: as a rule it reads the broadcast
  * of a join, and prunes nothing where no join of the plan broadcasts the same rows.
  */
final class PlannedPruning private[place] (plan: SparkPlan, marks: PlanMarks) {

  /** The marks of what pruning plans to read its values from; none if one of its plans is not known. */
  private lazy val builds: Option[Set[Int]] = {
    val known = plan.collect { case node => node.expressions.flatMap(_.collect { case pruning: DynamicPruning => pruning }) }.flatten.map {
      case Unplanned(values)                             => Some(Seq(marks.of(values.child)))
      case DynamicPruningExpression(Literal.TrueLiteral) => Some(Nil)
      case _                                             => None
    }
    if (known.forall(_.isDefined)) Some(known.flatten.flatten.toSet) else None
  }

  /** Whether pruning may reuse a broadcast for a subquery, which is not in the plan. It reads the same leaves. */
  def mayRead(exchange: SparkPlan): Boolean = isBroadcast(exchange) && builds.forall(_.contains(marks.of(exchange)))

  /** Whether pruning leaves out partitions of the target's scan by each of the keys. */
  def covers(target: FilterTarget): Boolean = {
    val prunings = ScanAdapter.partitionConditions(target.scan).flatMap(_.collect { case pruning: DynamicPruning => pruning })
    val columns = AttributeSet.fromAttributeSets(prunings.filter(findsValues).map(_.references))
    prunings.nonEmpty && target.columns.forall(columns.contains)
  }

  private def findsValues(pruning: DynamicPruning): Boolean = pruning match {
    case Unplanned(values) if values.onlyInBroadcast => marks.like(values.child).exists(isBroadcast)
    case _                                           => true
  }

  private def isBroadcast(plan: SparkPlan): Boolean = plan.isInstanceOf[BroadcastExchangeLike] || plan.isInstanceOf[BroadcastQueryStageExec]

  /** Pruning whose values AQE has not planned yet. */
  private object Unplanned {
    def unapply(pruning: DynamicPruning): Option[SubqueryAdaptiveBroadcastExec] = pruning match {
      case DynamicPruningExpression(in: InSubqueryExec) => in.plan match {
          case values: SubqueryAdaptiveBroadcastExec => Some(values)
          case _                                     => None
        }
      case _ => None
    }
  }
}
