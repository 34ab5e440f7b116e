package io.aqeplugin.tell

import java.util.concurrent.atomic.AtomicReference

import org.apache.spark.sql.ExtendedExplainGenerator
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.{AqeConf, SessionConf}
import io.aqeplugin.metrics.{Faults, Survivable}

/** The plugin's section of EXPLAIN: a line for each join of the plan, with or without a filter. Spark's own join nodes have no place for a
  * text (SPARK-47289 made one below the plan).
  */
final class ExplainSection extends ExtendedExplainGenerator with AdaptiveSparkPlanHelper {

  override def title: String = "aqe-plugin"

  override def generateExtendedInfo(plan: SparkPlan): String =
    try {
      // A stage that is read twice shows its joins twice.
      val lines = collectWithSubqueries(plan) { case node => node.getTagValue(ExplainSection.Line).map(_.get.apply()) }.flatten.distinct
      if (lines.isEmpty) ExplainSection.whyNone(SQLConf.get) else lines.mkString("\n")
    } catch {
      case Survivable(error) =>
        Faults.note("EXPLAIN", "the plugin's section is empty", error)
        ""
    }
}

object ExplainSection {

  private def whyNone(conf: SQLConf): String =
    if (SessionConf.isOff(conf)) s"the plugin is off: ${AqeConf.ModeKey.key}"
    else SessionConf.read(conf).fold(error => s"every join is left to Spark. ${error.message}", _ => "this plan has no join to decide")

  private val Line = TreeNodeTag[AtomicReference[() => String]]("io.aqeplugin.decision")

  /** Sets the line of a join.
    *
    * @param line
    *   of this join in all plans of its query: AQE goes on with an older plan if a new one equals it
    */
  def note(join: SparkPlan, line: AtomicReference[() => String], text: => String): Unit = {
    line.set(() => text)
    join.setTagValue(Line, line)
  }
}
