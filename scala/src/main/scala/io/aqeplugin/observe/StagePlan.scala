package io.aqeplugin.observe

import scala.collection.mutable

import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{QueryStageExec, TableCacheQueryStageExec}
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}
import org.apache.spark.sql.execution.metric.SQLMetric

/** What a stage runs, by Spark's operators, whoever carries them out. */
object StagePlan {

  /** The plan of a stage; the same each time, with what has been counted by now. */
  def of(stage: QueryStageExec): SparkPlan = {
    val seen = stage.plan.getTagValue(Tag).getOrElse {
      val made = new Seen(stage.plan)
      stage.plan.setTagValue(Tag, made)
      made
    }
    seen.count(isOver = stage.isMaterialized)
    seen.plan
  }

  /** The rows that one of these operators, or the one below it, gave; 0 where nothing counted them. */
  def rows(plan: SparkPlan): Long = plan match {
    case cache: TableCacheQueryStageExec => rows(of(cache))
    case other                           => counted(other)
  }

  private def counted(plan: SparkPlan): Long = {
    def ofSpark = Option(plan.session).flatMap(_ => plan.metrics.get(Rows)).map(_.value)
    val counted = plan.getTagValue(RowsTag).fold(ofSpark)(now => Some(now().getOrElse(0L)))
    counted.fold(if (plan.children.size == 1) rows(plan.children.head) else 0L)(_.max(0L))
  }

  private val Rows = "numOutputRows"
  private val RowsTag = TreeNodeTag[() => Option[Long]]("aqe_plugin_rows_of_engine")
  private val Tag = TreeNodeTag[Seen]("aqe_plugin_stage_plan")

  /** A plan with Spark's operators in place of an engine's, and what these have counted; the plan itself if it has none. */
  def ofSpark(plan: SparkPlan): SparkPlan = {
    val seen = new Seen(plan)
    seen.count(isOver = true)
    seen.plan
  }

  private final class Seen(of: SparkPlan) {
    private val counts = mutable.ArrayBuffer.empty[(SQLMetric, () => Option[Long])]
    val plan: SparkPlan = made(of)

    /** Sets what Spark's operators have counted to what the engine's have; for the last time once these have ended. */
    def count(isOver: Boolean): Unit = counts.synchronized {
      counts.foreach { case (metric, now) => now().foreach(metric.set) }
      if (isOver) counts.clear()
    }

    private def made(plan: SparkPlan): SparkPlan = plan match {
      case stage: QueryStageExec      => stage
      case reused: ReusedExchangeExec => made(reused.child) match {
          case exchange: Exchange => if (exchange eq reused.child) reused else reused.copy(child = exchange)
          case _                  => reused
        }
      case other =>
        val children = other.children.map(made)
        Engines.of(other) match {
          case None         => replaced(other, children)
          case Some(engine) => ofEngine(engine, other, children)
        }
    }

    private def ofEngine(engine: Engine, operator: SparkPlan, children: Seq[SparkPlan]): SparkPlan =
      engine.original(operator).filter(_.children.size == children.size) match {
        case Some(spark) =>
          val found = replaced(spark, children)
          found.setTagValue(RowsTag, () => engine.counted(operator, Rows))
          // While its application ends, an operator is of no session, and can have no metrics.
          if (Option(found.session).isDefined) counts ++= found.metrics.map { case (name, metric) =>
            metric -> (() => engine.counted(operator, name))
          }
          found
        // What only moves batches changes no row.
        case None => if (children.size == 1) children.head else replaced(operator, children)
      }

    private def replaced(plan: SparkPlan, children: Seq[SparkPlan]): SparkPlan =
      if (children.lazyZip(plan.children).forall(_ eq _)) plan else plan.withNewChildren(children)
  }
}
