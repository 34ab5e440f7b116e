package io.aqeplugin.tell

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry.FunctionBuilder
import org.apache.spark.sql.catalyst.expressions.{
  Expression,
  ExpressionInfo,
  ImplicitCastInputTypes,
  Literal,
  RaiseError,
  TernaryExpression
}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.types.{BooleanType, DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.decide.{DecideJoin, FlipPoints, JoinDecision, Thresholds}

/** `aqe_decide(facts, thresholds[, flips])`: the decision for logged facts under other thresholds, made by the code that decides at run
  * time.
  *
  * The first two arguments and the result are JSON in the form of [[DecisionJson]]. `thresholds` contains only the conf keys that differ from
  * their defaults (`'{}'`: none); an unknown name is an error. With `flips`, the result has the decision's flip points too, as the event of a
  * query's end has them; to seek them takes about 1 ms. The result is null for a null argument. An argument that cannot be read fails the
  * query, with the name of the field.
  */
final case class AqeDecide(facts: Expression, thresholds: Expression, flips: Expression)
    extends TernaryExpression
    with ImplicitCastInputTypes
    with CodegenFallback {

  override def first: Expression = facts
  override def second: Expression = thresholds
  override def third: Expression = flips
  override def inputTypes: Seq[DataType] = Seq(StringType, StringType, BooleanType)
  override def dataType: DataType = StringType
  override lazy val throwable: Boolean = true
  override def prettyName: String = AqeDecideFunction.Name

  override protected def nullSafeEval(factsText: Any, thresholdsText: Any, withFlips: Any): Any =
    AqeDecideFunction.decide(factsText.toString, thresholdsText.toString, withFlips == true) match {
      case Right(decision) => UTF8String.fromString(decision)
      case Left(error)     => RaiseError(Literal(error)).eval()
    }

  override protected def withNewChildrenInternal(newFirst: Expression, newSecond: Expression, newThird: Expression): AqeDecide =
    copy(newFirst, newSecond, newThird)
}

object AqeDecideFunction {
  val Name = "aqe_decide"

  private val Does = "the join decision for logged facts under other thresholds; arguments and result are JSON."
  private val Arguments =
    """
    Arguments:
      * facts - the `facts` of a logged decision
      * thresholds - an object of conf keys and values; missing keys have their defaults
      * flips - whether the result has the decision's flip points; without it, it has none
    """

  /** For `SparkSessionExtensions.injectFunction`. */
  val description: (FunctionIdentifier, ExpressionInfo, FunctionBuilder) = (
    FunctionIdentifier(Name),
    DriverTable.info(classOf[AqeDecide], Name, s"(facts, thresholds[, flips]) - $Does", "misc_funcs", Arguments),
    {
      case Seq(facts, thresholds)        => AqeDecide(facts, thresholds, Literal.FalseLiteral)
      case Seq(facts, thresholds, flips) => AqeDecide(facts, thresholds, flips)
      case arguments                     => throw DriverTable.wrongArgumentCount(Name, expected = "2 or 3", arguments.size)
    }
  )

  /** The decision as JSON, or an error that names the argument and the field. */
  def decide(facts: String, thresholds: String, withFlips: Boolean = false): Either[String, String] = {
    val decided = for {
      readFacts <- named("facts", DecisionJson.Facts.readText(facts))
      readThresholds <- named("thresholds", Json.parseObject(thresholds).flatMap(ThresholdsJson.read))
    } yield {
      val decision = DecideJoin.decide(readFacts, readThresholds)
      val json = DecisionJson.write(decision)
      if (withFlips) json.set[ObjectNode]("flips", flipsOf(decision, readThresholds))
      Json.render(json)
    }
    decided.left.map(error => s"$Name: $error")
  }

  private def flipsOf(decision: JoinDecision, thresholds: Thresholds): ArrayNode =
    FlipPoints.of(decision, thresholds).foldLeft(Json.Nodes.arrayNode()) { (array, point) =>
      array.add(EventSchema.Flip.write(JoinFlip(decision.facts.joinId, point)))
    }

  private def named[A](argument: String, result: Either[String, A]): Either[String, A] = result.left.map(error => s"$argument: $error")
}
