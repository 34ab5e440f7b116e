package io.aqeplugin.tell

import org.apache.spark.sql.ExtendedExplainGenerator
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.internal.SQLConf

import io.aqeplugin.conf.{AqeConf, Mode, SessionConf}
import io.aqeplugin.decide.{Reason, ReasonCode}
import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.observe.{Engines, ExplainLine, ForeignNodes}

/** The plugin's section of EXPLAIN: a line for each join of the plan, with or without a filter. Spark's own join nodes have no place for a
  * text (SPARK-47289 made one below the plan).
  */
final class ExplainSection extends ExtendedExplainGenerator with AdaptiveSparkPlanHelper {

  override def title: String = "aqe-plugin"

  override def generateExtendedInfo(plan: SparkPlan): String =
    try {
      // A stage that is read twice shows its joins twice.
      val lines = collectWithSubqueries(plan) { case node => ExplainSection.linesOf(node) }
        .flatten.flatMap(_.text.linesIterator).filter(_.nonEmpty).distinct
      if (lines.isEmpty) ExplainSection.whyNone(SQLConf.get, foreignIn(plan))
      else (lines ++ ExplainSection.notes(SQLConf.get, lines)).mkString("\n")
    } catch {
      case Survivable(error) =>
        Faults.note("EXPLAIN", "the plugin's section is empty", error)
        ""
    }

  private def foreignIn(plan: SparkPlan): Option[String] = {
    lazy val engine = Option(plan.session).flatMap(Engines.behind(_, SQLConf.get))
    collectFirst(plan) { case node if ForeignNodes.isOne(node) && !engine.exists(_.owns(node.getClass.getName)) => node.getClass.getName }
  }
}

object ExplainSection {

  private def whyNone(conf: SQLConf, foreign: => Option[String]): String =
    if (SessionConf.isOff(conf)) s"the plugin is off: ${AqeConf.ModeKey.key}"
    else if (!conf.adaptiveExecutionEnabled) s"every join is left to Spark: ${SQLConf.ADAPTIVE_EXECUTION_ENABLED.key} is false"
    else SessionConf.read(conf).fold(error => s"every join is left to Spark. ${error.message}", _ => foreign.fold(NoJoin)(noKnownJoin))

  private def noKnownJoin(foreign: String): String =
    s"this plan has no join to decide beside another engine: ${ExplainText.reason(Reason(ReasonCode.ForeignNode, subject = foreign))}"

  private val NoJoin = "this plan has no join to decide; the decisions on joins that AQE has removed are in aqe_decisions()"

  /** What is to be said besides of a plan with joins. */
  private def notes(conf: SQLConf, lines: Iterable[String]): Seq[String] = SessionConf.read(conf).toSeq.flatMap { settings =>
    val missing = settings(AqeConf.Force).joins.keys.toSeq.sorted.filterNot(id => lines.exists(_.startsWith(s"$id: ")))
    Seq(
      Option.when(settings.mode == Mode.Observe)(s"${AqeConf.ModeKey.key} is observe: the plan stays Spark's"),
      SessionConf.badForce(conf).map(bad => s"${bad.message} No join is forced"),
      Option.when(missing.nonEmpty)(s"no join of this plan is ${missing.mkString(" or ")}: ${AqeConf.Force.key} forces nothing there")
    ).flatten
  }

  private val Lines = TreeNodeTag[Seq[ExplainLine]]("io.aqeplugin.decision")

  /** An engine may have its own operator in place of the one that was noted. */
  private def linesOf(node: SparkPlan): Seq[ExplainLine] =
    node.getTagValue(Lines).orElse(Engines.of(node).flatMap(_.original(node)).flatMap(_.getTagValue(Lines))).getOrElse(Nil)

  /** The lines of a plan without those of its subqueries, which are plans of their own. */
  def linesIn(plan: SparkPlan): Seq[ExplainLine] = plan.collect { case node => linesOf(node) }.flatten

  /** Sets the lines of a node: a join that is decided for its equalities and for a range has one for each. */
  def note(join: SparkPlan, lines: Seq[ExplainLine]): Unit = join.setTagValue(Lines, lines)
}
