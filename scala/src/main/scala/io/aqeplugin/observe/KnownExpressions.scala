package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.expressions.variant.VariantGet
import org.apache.spark.sql.catalyst.util.CharVarcharCodegenUtils

/** The one list of Spark's expressions: what holds of each class whatever its operands are. A class that is not listed is refused wherever one of
  * the properties is asked for, be it a newer Spark's, another engine's or a user's. A test goes through the classes of each Spark line and fails at
  * one that is neither listed nor recorded as left out.
  *
  * What depends on the operands too is judged where it is asked.
  */
private[aqeplugin] object KnownExpressions {
  sealed trait Property

  /** It has a value wherever its operands have one; an aggregate function, also over any part of a group ([[Total]]). */
  case object HasValue extends Property

  /** It should take some ten nanoseconds a row, which was not measured one by one. A filter is below the conditions of its scan, so it computes a key
    * also for rows that a condition would have dropped; parsing a document or formatting a date for each of them would cost more than a filter saves.
    */
  case object Cheap extends Property

  /** It does not tell strings apart that their collation takes for equal, if its operands do not. */
  case object SameForEqual extends Property

  /** An aggregate or rank whose value depends on the set of rows and not on their order. */
  case object OfSet extends Property

  private val Spark = "org.apache.spark.sql"
  private val Expressions = s"$Spark.catalyst.expressions"

  // By exact class: a subclass may do anything.
  private[observe] val known: Map[String, Set[Property]] = Seq(
    all(Expressions, HasValue, Cheap, SameForEqual)(
      "And Or Not IsNull IsNotNull EqualTo EqualNullSafe LessThan LessThanOrEqual GreaterThan GreaterThanOrEqual"
    ),
    all(Expressions, HasValue, SameForEqual)("Alias SortOrder"),
    all(s"$Spark.catalyst.plans.physical", HasValue, SameForEqual)("""HashPartitioning RangePartitioning CoalescedHashPartitioning
      PartitioningCollection KeyGroupedPartitioning KeyedPartitioning"""),
    all(Expressions, HasValue, Cheap)("""AttributeReference Literal Coalesce If CaseWhen In InSet IsNaN GetStructField UnscaledValue
      MakeDecimal KnownFloatingPointNormalized KnownNotNull DateAdd DateSub Year YearOfWeek Quarter Month MonthName WeekOfYear WeekDay
      DayName DayOfWeek DayOfMonth DayOfYear Substring Upper Lower Concat Collate ResolvedCollation CollationKey XxHash64"""),
    all(s"$Spark.catalyst.optimizer", HasValue, Cheap)("NormalizeNaNAndZero"),
    all(Expressions, Cheap)("""Cast GetArrayItem ElementAt Greatest Least Add Subtract Multiply Divide IntegralDivide Remainder Pmod
      UnaryMinus Abs Floor Ceil Round BitwiseAnd BitwiseOr BitwiseXor ShiftLeft ShiftRight ShiftRightUnsigned CheckOverflow Hour Minute
      Second SecondWithFraction DateDiff LastDay TruncDate TruncTimestamp StringTrim StringTrimLeft StringTrimRight StringRPad StringLPad
      Length Murmur3Hash"""),
    all(Expressions, HasValue)("""WindowExpression WindowSpecDefinition UnspecifiedFrame$ RowNumber NTile NthValue Lag Lead EWM NullIndex
      CreateArray CreateNamedStruct KnownNullable KnownNotContainsNull BloomFilterMightContain DynamicPruningExpression
      DynamicPruningSubquery Contains StartsWith EndsWith"""),
    all(s"$Spark.execution", HasValue)("ScalarSubquery InSubqueryExec"),
    all("io.aqeplugin.observe", HasValue)("RowCheck"),
    all(s"$Expressions.aggregate", HasValue)("""AggregateExpression Min Max First Last MinBy MaxBy CollectList CollectSet CollectTopK
      ListAgg StddevSamp StddevPop VarianceSamp VariancePop ApproximatePercentile BloomFilterAggregate"""),
    all(Expressions, HasValue, OfSet)("Rank DenseRank PercentRank CumeDist"),
    all(s"$Expressions.aggregate", HasValue, OfSet)("Count BitAndAgg BitOrAgg BitXorAgg HyperLogLogPlusPlus")
  ).flatten.toMap

  private def all(in: String, properties: Property*)(names: String) = names.split("\\s+").map(name => s"$in.$name" -> properties.toSet)

  def has(expression: Expression, property: Property): Boolean = known.get(expression.getClass.getName).exists(_(property))

  /** Whether an expression and all that it is made of are cheap. */
  def areCheap(expression: Expression): Boolean =
    (expression match {
      // By a path that is parsed once. A variant is binary: to find a field of it is no parsing.
      case extraction: VariantGet => extraction.path.foldable
      case call: StaticInvoke     => call.staticObject == classOf[CharVarcharCodegenUtils]
      case other                  => has(other, Cheap)
    }) && expression.children.forall(areCheap)
}
