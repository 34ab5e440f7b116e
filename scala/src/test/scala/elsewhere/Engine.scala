package elsewhere

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.physical.{Distribution, Partitioning}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{BinaryExecNode, ColumnarRule, ProjectExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.joins.SortMergeJoinExec
import org.apache.spark.sql.internal.SQLConf

/** Another engine, in no package of the plugin's or of Spark's. What it puts into plans, and when, is set for each session. */
class Engine extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectQueryStagePrepRule(_ => Engine.Rule("prepared"))
    extensions.injectColumnar(_ => new ColumnarRule { override val preColumnarTransitions: Rule[SparkPlan] = Engine.Rule("columnar") })
  }
}

object Engine {

  /** `prepared` or `columnar`: at which point. */
  val When = "spark.elsewhere.when"

  /** `exchange`, `join` or `top`: instead of what. */
  val What = "spark.elsewhere.what"

  private final case class Rule(when: String) extends org.apache.spark.sql.catalyst.rules.Rule[SparkPlan] {
    override def apply(plan: SparkPlan): SparkPlan =
      if (SQLConf.get.getConfString(When, "") != when) plan
      else
        SQLConf.get.getConfString(What, "") match {
          case "exchange" => plan.transformUp {
              case shuffle: ShuffleExchangeExec if !shuffle.child.isInstanceOf[PassExec] =>
                shuffle.withNewChildren(Seq(PassExec(shuffle.child)))
            }
          case "join" => plan.transformUp { case join: SortMergeJoinExec => OwnJoinExec(join.left, join.right, join) }
          case "top"  => plan match {
              case project: ProjectExec => PassExec(project)
              case other                => other
            }
          // Spark hands such a rule the plan of a stage, never a join with the exchanges below it.
          case "failing" if plan.exists(_.isInstanceOf[SortMergeJoinExec]) && plan.exists(_.isInstanceOf[ShuffleExchangeExec]) =>
            throw new IllegalStateException("no plan of a stage")
          case _ => plan
        }
  }
}

/** Passes the rows on. */
final case class PassExec(child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override protected def doExecute(): RDD[InternalRow] = child.execute()
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
}

/** A join as Spark's. */
final case class OwnJoinExec(left: SparkPlan, right: SparkPlan, of: SortMergeJoinExec) extends BinaryExecNode {
  override def output: Seq[Attribute] = of.output
  override def outputPartitioning: Partitioning = of.outputPartitioning
  override def requiredChildDistribution: Seq[Distribution] = of.requiredChildDistribution
  override protected def doExecute(): RDD[InternalRow] = of.copy(left = left, right = right).execute()
  override protected def withNewChildrenInternal(newLeft: SparkPlan, newRight: SparkPlan): SparkPlan = copy(newLeft, newRight)
}
