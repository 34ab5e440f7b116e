package io.aqeplugin.tell

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry.FunctionBuilder
import org.apache.spark.sql.catalyst.expressions.{BinaryExpression, Expression, ExpressionInfo, ImplicitCastInputTypes, Literal, RaiseError}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.types.{DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.decide.DecideJoin

/** `aqe_decide(facts, thresholds)`: the decision for logged facts under other thresholds, made by the code that decides at run time.
  *
  * Both arguments and the result are JSON in the form of [[DecisionJson]]. `thresholds` contains only the conf keys that differ from their
  * defaults (`'{}'`: none); an unknown name is an error. The result is null for a null argument. An argument that cannot be read fails the
  * query, with the name of the field.
  */
final case class AqeDecide(facts: Expression, thresholds: Expression)
    extends BinaryExpression
    with ImplicitCastInputTypes
    with CodegenFallback {

  override def left: Expression = facts
  override def right: Expression = thresholds
  override def inputTypes: Seq[DataType] = Seq(StringType, StringType)
  override def dataType: DataType = StringType
  override lazy val throwable: Boolean = true
  override def prettyName: String = AqeDecideFunction.Name

  override protected def nullSafeEval(factsText: Any, thresholdsText: Any): Any =
    AqeDecideFunction.decide(factsText.toString, thresholdsText.toString) match {
      case Right(decision) => UTF8String.fromString(decision)
      case Left(error)     => RaiseError(Literal(error)).eval()
    }

  override protected def withNewChildrenInternal(newLeft: Expression, newRight: Expression): AqeDecide =
    copy(facts = newLeft, thresholds = newRight)
}

object AqeDecideFunction {
  val Name = "aqe_decide"

  private val Does = "the join decision for logged facts under other thresholds; arguments and result are JSON."
  private val Arguments =
    """
    Arguments:
      * facts - the `facts` of a logged decision
      * thresholds - an object of conf keys and values; missing keys have their defaults
    """

  /** For `SparkSessionExtensions.injectFunction`. */
  val description: (FunctionIdentifier, ExpressionInfo, FunctionBuilder) = (
    FunctionIdentifier(Name),
    DriverTable.info(classOf[AqeDecide], Name, s"(facts, thresholds) - $Does", "misc_funcs", Arguments),
    {
      case Seq(facts, thresholds) => AqeDecide(facts, thresholds)
      case arguments              => throw DriverTable.wrongArgumentCount(Name, expected = 2, arguments.size)
    }
  )

  /** The decision as JSON, or an error that names the argument and the field. */
  def decide(facts: String, thresholds: String): Either[String, String] = {
    val decision = for {
      readFacts <- named("facts", DecisionJson.Facts.readText(facts))
      readThresholds <- named("thresholds", Json.parseObject(thresholds).flatMap(ThresholdsJson.read))
    } yield Json.render(DecisionJson.write(DecideJoin.decide(readFacts, readThresholds)))
    decision.left.map(error => s"$Name: $error")
  }

  private def named[A](argument: String, result: Either[String, A]): Either[String, A] = result.left.map(error => s"$argument: $error")
}
