package io.aqeplugin.observe

import java.net.URL

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/** Operators that are neither Spark's nor the plugin's. What such an operator needs of its neighbours is unknown: one of another engine may fail
  * with an operator of ours beside it.
  *
  * Spark's are in Spark's packages ''and'' come from where Spark's come from. One of both does not do: other engines have classes in
  * `org.apache.spark.sql.execution`, and an application may have everything in one jar. Spark's Hive module is a jar of its own.
  *
  * A leaf that gives rows is a source like any other, and Spark makes batches of none. One that gives batches belongs to an engine.
  */
object ForeignNodes {
  private val Own = "io.aqeplugin."
  private val Hive = "org.apache.spark.sql.hive.execution."
  private val Spark = "org.apache.spark.sql.execution."

  def isOne(plan: SparkPlan): Boolean = isForeign.get(plan.getClass) && (plan.children.nonEmpty || plan.supportsColumnar)

  /** The class of the first such operator of a plan, from the top down, also of stages that have begun. */
  def first(plan: SparkPlan, engine: Option[Engine] = None): Option[String] =
    if (isOne(plan) && !engine.exists(_.owns(plan.getClass.getName))) Some(plan.getClass.getName)
    else below(plan).iterator.flatMap(first(_, engine)).nextOption()

  private def below(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case stage: QueryStageExec      => Seq(stage.plan)
    case reused: ReusedExchangeExec => Seq(reused.child)
    case other                      => other.children
  }

  /** Asked for every operator at every planning. */
  private val isForeign = new ClassValue[Boolean] {
    override def computeValue(of: Class[_]): Boolean =
      !(of.getName.startsWith(Own) || of.getName.startsWith(Hive) || of.getName.startsWith(Spark) && sourceOf(of) == sourceOfSpark)
  }

  private lazy val sourceOfSpark: Option[URL] = sourceOf(classOf[SparkPlan])

  private def sourceOf(of: Class[_]): Option[URL] =
    Option(of.getProtectionDomain).flatMap(domain => Option(domain.getCodeSource)).flatMap(source => Option(source.getLocation))
}
