package io.aqeplugin.limit

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.{CollectLimitExec, LocalLimitExec, SparkPlan, TakeOrderedAndProjectExec}

import io.aqeplugin.conf.{AqeConf, Mode}
import io.aqeplugin.decide.Thresholds
import io.aqeplugin.observe.Engines

/** The limits of a plan that is made for an execution.
  *
  * @param limits
  *   those of the query
  * @param engine
  *   the name of the engine that carries the plan out, whose reader takes no choice of files; none if Spark carries all of it out
  * @param endNanos
  *   until when footers may be read, as `System.nanoTime`: a union of many tables has a limit over each of them
  * @param announce
  *   told of each decision while the plan is made
  * @param slotsNow
  *   task slots of the cluster
  */
final class LimitsOfPlan(
    val limits: LimitsOfQuery,
    val mode: Mode,
    val thresholds: Thresholds,
    val sparkContext: SparkContext,
    val engine: Option[String],
    val endNanos: Long
)(val announce: LimitDecision => Unit, slotsNow: => Int) {
  val maxFooters: Long = thresholds(AqeConf.LimitMaxFooters)
  lazy val slots: Int = slotsNow

  /** The plan whose limits read the files that they were decided to. */
  def decided(plan: SparkPlan): SparkPlan = plan.transformDown {
    case limit: CollectLimitExec if limit.limit >= 0 => new LimitOfPlan(limit, limit.child, this).collected(limit)
    case limit: LocalLimitExec                       => new LimitOfPlan(limit, limit.child, this).inner(limit)
    case top: TakeOrderedAndProjectExec              => new LimitOfPlan(top, top.child, this).top(top, isRoot = top eq plan)
  }
}

object LimitsOfPlan {

  /** Whether a plan has a limit that may be decided, of Spark's or of an engine's. */
  def has(plan: SparkPlan): Boolean = plan.exists { node =>
    Engines.original(node) match {
      case _: CollectLimitExec | _: LocalLimitExec | _: TakeOrderedAndProjectExec => true
      case _                                                                      => false
    }
  }
}
