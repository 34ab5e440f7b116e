package io.aqeplugin.rules

import java.util.concurrent.TimeUnit

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.{AqeConf, Mode, SessionConf}
import io.aqeplugin.limit.{LimitsOfPlan, LimitsOfQuery}
import io.aqeplugin.observe.StagePlan
import io.aqeplugin.tell.DecisionLog

/** Lets the scan below a limit read fewer files.
  *
  * Runs before Spark makes columnar transitions: once for a query without an exchange, and once for each stage that AQE creates. So a choice
  * is made once, however often AQE plans anew.
  *
  * A `LocalLimit` may take any rows of its input: Spark puts it only where the rows of a single partition would do, and its plans do not
  * depend on how rows are spread over partitions.
  */
final case class ReadFewerFiles(session: SparkSession) extends SafeRule[SparkPlan](session) {

  override protected def concerns(plan: SparkPlan): Boolean = LimitsOfPlan.has(plan)

  override protected def change(plan: SparkPlan, context: RuleContext): SparkPlan = {
    val mode = SessionConf.limitMode(SQLConf.get)
    // A plan that is made before its query runs, by explain for example, may meet other files than those that it was made for.
    if (plan.logicalLink.exists(_.isStreaming) || !context.isExecution || mode == Mode.Off) plan
    else {
      val endNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(context.thresholds(AqeConf.LimitFooterTimeout))
      // Where no stage is made, the engine takes the plan over afterwards.
      val engine = context.engine.map(_.name)
      val limits = new LimitsOfPlan(LimitsOfQuery(context.state), mode, context.thresholds, context.sparkContext, engine, endNanos)(
        DecisionLog.announce(context.state, _),
        context.cluster.facts.slots
      )
      // An engine's limits are told, and stay.
      if (engine.isEmpty) limits.decided(plan)
      else {
        val _ = limits.decided(StagePlan.ofSpark(plan))
        plan
      }
    }
  }
}
