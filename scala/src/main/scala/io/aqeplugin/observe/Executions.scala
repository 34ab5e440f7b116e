package io.aqeplugin.observe

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}

/** The executions of Spark SQL that run. */
private[aqeplugin] object Executions {

  /** The id of the execution that the calling thread works for. */
  def idOf(sparkContext: SparkContext, key: String = SQLExecution.EXECUTION_ID_KEY): Option[Long] =
    Option(sparkContext.getLocalProperty(key)).flatMap(_.toLongOption)

  def of(executionId: Long): Option[QueryExecution] = Option(SQLExecution.getQueryExecution(executionId))

  /** The optimized plan, if there is one: a query that is planned while this one is still being optimized must not force it. */
  def optimizedPlan(executionId: Long): Option[LogicalPlan] =
    of(executionId).filter(_.tracker.phases.contains(QueryPlanningTracker.OPTIMIZATION)).map(_.optimizedPlan)
}
