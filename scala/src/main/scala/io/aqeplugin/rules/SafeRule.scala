package io.aqeplugin.rules

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.SessionConf
import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.tell.DriverTable

/** Wraps a rule for Spark: it does nothing in mode off, measures its time, and catches faults. After a fault, the input plan is returned.
  */
abstract class SafeRule[P <: QueryPlan[_]](session: SparkSession) extends Rule[P] {

  /** The changed plan; must be `plan` itself if nothing changes. */
  protected def change(plan: P, context: RuleContext): P

  /** Whether the rule may change `plan`. A rule that runs on every query of the application says so cheaply. */
  protected def concerns(plan: P): Boolean = true

  final override def apply(plan: P): P =
    try if (concerns(plan)) contextOf(plan).fold(plan)(timed(plan, _)) else plan
    catch {
      case Survivable(error) =>
        RuleContext.noteFault(session.sparkContext, ruleName, error)
        plan
    }

  /** The rule's context; none when the plugin is off, its conf is invalid, or the query reads the decisions themselves. */
  private def contextOf(plan: P): Option[RuleContext] = RuleContext.known(session.sparkContext).orElse {
    val conf = SQLConf.get
    if (SessionConf.isOff(conf) || DriverTable.isRead(session.sparkContext, plan)) None
    else
      SessionConf.read(conf) match {
        case Left(error) =>
          if (RuleContext.noteBadConf(session.sparkContext, error)) Faults.badConf(error)
          None
        case Right(settings) =>
          SessionConf.unknownKeys(conf).foreach(Faults.unknownKey)
          SessionConf.badForce(conf).foreach(Faults.badForce)
          Some(RuleContext.first(session, settings, plan))
      }
  }

  private def timed(plan: P, context: RuleContext): P = {
    val startNanos = System.nanoTime()
    try change(plan, context)
    finally context.state.ruleNanos.add(System.nanoTime() - startNanos)
  }
}
