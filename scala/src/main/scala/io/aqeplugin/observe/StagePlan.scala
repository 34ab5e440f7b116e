package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}

/** What a stage runs, by Spark's operators, whoever carries them out. */
object StagePlan {

  /** The plan of a stage; the same each time once the stage has finished. */
  def of(stage: QueryStageExec): SparkPlan = {
    val plan = stage.plan
    plan.getTagValue(Tag).getOrElse {
      val seen = ofSpark(plan)
      if (stage.isMaterialized) plan.setTagValue(Tag, seen)
      seen
    }
  }

  private val Tag = TreeNodeTag[SparkPlan]("aqe_plugin_stage_plan")

  /** A plan with Spark's operators in place of an engine's, and what these have counted; the plan itself if it has none. */
  def ofSpark(plan: SparkPlan): SparkPlan = plan match {
    case stage: QueryStageExec      => stage
    case reused: ReusedExchangeExec => ofSpark(reused.child) match {
        case exchange: Exchange => if (exchange eq reused.child) reused else reused.copy(child = exchange)
        case _                  => reused
      }
    case other =>
      val children = other.children.map(ofSpark)
      Engines.of(other) match {
        case None => replaced(other, children)
        // What only moves batches changes no row.
        case Some(engine) =>
          engine.original(other).filter(_.children.size == children.size).fold(if (children.size == 1) children.head
          else replaced(other, children)) { spark =>
            val made = replaced(spark, children)
            made.metrics.foreach { case (name, metric) => engine.counted(other, name).foreach(metric.set) }
            made
          }
      }
  }

  private def replaced(plan: SparkPlan, children: Seq[SparkPlan]): SparkPlan =
    if (children.lazyZip(plan.children).forall(_ eq _)) plan else plan.withNewChildren(children)
}
