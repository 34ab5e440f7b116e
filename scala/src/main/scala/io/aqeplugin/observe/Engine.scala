package io.aqeplugin.observe

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType

/** An engine that carries out operators of Spark's plans on its own, below the same SQL: what the plugin must know of it. Nothing of it is
  * linked, as its jar may be missing.
  */
trait Engine {

  /** Its name in reasons and documentation. */
  def name: String

  /** Whether a class of an operator or a rule is the engine's. */
  def owns(className: String): Boolean

  /** The class of its session extension. */
  def extension: String

  /** Whether the conf of a session lets it take operators over. */
  def isOn(conf: SQLConf): Boolean

  /** Spark's operator that one of the engine's carries out; none of one that only moves batches. */
  def original(operator: SparkPlan): Option[SparkPlan]

  /** What the engine has counted of one of its operators, by the name that Spark's operator counts it by. */
  def counted(operator: SparkPlan, metric: String): Option[Long]

  /** The rows of what its broadcast carries; none of anything else. The iterator reuses its row. */
  def rowsOf(broadcast: Any): Option[Iterator[InternalRow]]

  /** Whether it compares values of a type, and hashes them by `xxhash64`, as Spark does. */
  def hashes(dataType: DataType): Boolean
}

object Engines {

  /** Those that the plugin works with. */
  val All: Seq[Engine] = Seq(Comet)

  /** The engine that carries out the queries of a session: one whose rules stand between the plugin's. One whose rules come before them all
    * has changed the plan by then.
    */
  def behind(session: SparkSession, conf: SQLConf): Option[Engine] = {
    val rules = SparkBridge.queryStagePrepRules(session).map(_.getClass.getName)
    val (first, last) = (rules.indexWhere(_.startsWith(Own)), rules.lastIndexWhere(_.startsWith(Own)))
    All.find { engine =>
      val own = rules.indices.filter(i => engine.owns(rules(i)))
      own.nonEmpty && own.forall(i => first >= 0 && first < i && i < last) && engine.isOn(conf)
    }
  }

  private val Own = "io.aqeplugin."

  /** Spark's operator that an operator of an engine's carries out; any other operator itself. */
  def original(operator: SparkPlan): SparkPlan = of(operator).flatMap(_.original(operator)).getOrElse(operator)

  /** The engine of an operator. Asked for every operator at every planning. */
  def of(operator: SparkPlan): Option[Engine] = ofClass.get(operator.getClass)

  private val ofClass = new ClassValue[Option[Engine]] {
    override def computeValue(of: Class[_]): Option[Engine] = All.find(_.owns(of.getName))
  }
}
