package io.aqeplugin.rules

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.SessionConf
import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.tell.DecisionsTable

/** A rule of ours as Spark gets to see it: off when the mode says so, timed, and without faults. Whatever goes wrong inside, the plan that came
  * in goes out.
  */
abstract class SafeRule[P <: TreeNode[_]](session: SparkSession) extends Rule[P] {

  /** The changed plan; must be `plan` itself when nothing is changed. */
  protected def change(plan: P, context: RuleContext): P

  final override def apply(plan: P): P =
    try contextOf(plan).fold(plan)(timed(plan, _))
    catch {
      case Survivable(error) =>
        Faults.note(ruleName, "Spark's own plan is used", error)
        plan
    }

  /** What the rule works with; none when the plugin is off, its conf cannot be read, or the query reads the decisions themselves. */
  private def contextOf(plan: P): Option[RuleContext] = RuleContext.known(session.sparkContext).orElse {
    val conf = SQLConf.get
    if (SessionConf.isOff(conf) || DecisionsTable.isRead(session.sparkContext, plan)) None
    else
      SessionConf.read(conf) match {
        case Left(error) =>
          if (RuleContext.countBadConf(session.sparkContext)) Faults.badConf(error)
          None
        case Right(settings) =>
          SessionConf.unknownKeys(conf).foreach(Faults.unknownKey)
          Some(RuleContext.first(session, settings))
      }
  }

  private def timed(plan: P, context: RuleContext): P = {
    val startNanos = System.nanoTime()
    try change(plan, context)
    catch {
      case error: Throwable =>
        context.state.errors.increment()
        throw error
    } finally context.state.ruleNanos.add(System.nanoTime() - startNanos)
  }
}
