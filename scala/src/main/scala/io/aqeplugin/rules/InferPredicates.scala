package io.aqeplugin.rules

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.{Mode, SessionConf}
import io.aqeplugin.infer.{InferFilters, InferredFilter}
import io.aqeplugin.metrics.Survivable
import io.aqeplugin.observe.QueryStates
import io.aqeplugin.tell.{DriverTable, PredicateLog}

/** Adds predicates that follow across joins, see [[InferFilters]]. Spark optimizes a query and each of its subqueries by one call each.
  *
  * After a fault, the plan stays as it is. The rule runs before the query's conf is fixed, which would read the optimized plan.
  */
final case class InferPredicates(session: SparkSession) extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    try SessionConf.predicatesMode(SQLConf.get) match {
        case Mode.Off => plan
        case mode     => changed(plan, mode)
      }
    catch {
      case Survivable(error) =>
        RuleContext.noteFault(session.sparkContext, ruleName, error)
        plan
    }

  private def changed(plan: LogicalPlan, mode: Mode): LogicalPlan = {
    val (withFilters, filters) = InferFilters(plan)
    if (filters.isEmpty || DriverTable.isRead(session.sparkContext, plan)) plan
    else {
      report(mode, filters)
      if (mode == Mode.Apply) withFilters else plan
    }
  }

  /** Plans outside an execution (EXPLAIN) are not recorded. */
  private def report(mode: Mode, filters: Seq[InferredFilter]): Unit = {
    val sparkContext = session.sparkContext
    RuleContext.executionId(sparkContext).foreach { id =>
      val arm = SessionConf.arm(SQLConf.get, sparkContext.applicationId, sparkContext.getConf.getAll.toMap)
      PredicateLog.record(sparkContext, QueryStates.of(id), mode, arm, filters)
    }
  }
}
