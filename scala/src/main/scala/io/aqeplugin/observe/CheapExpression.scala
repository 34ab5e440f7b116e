package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.expressions.variant.VariantGet
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.catalyst.util.CharVarcharCodegenUtils

/** Expressions that should take some ten nanoseconds a row, which was not measured one by one. A filter is below the conditions of its scan, so it computes a key also for rows that a
  * condition would have dropped; parsing a document or formatting a date for each of them would cost more than a filter saves.
  *
  * Only Spark's own are known, so code of a user's, in whatever form, is none.
  */
private[observe] object CheapExpression {

  /** Whether an expression and all that it is made of are such. */
  def apply(expression: Expression): Boolean = isOne(expression) && expression.children.forall(apply)

  private def isOne(expression: Expression): Boolean = expression match {
    case _: Attribute | _: Literal                                                  => true
    case _: UserDefinedExpression                                                   => false
    case _: Cast | _: GetStructField | _: GetArrayItem | _: ElementAt               => true
    case _: Coalesce | _: If | _: CaseWhen | _: Greatest | _: Least                 => true
    case _: IsNull | _: IsNotNull | _: IsNaN | _: And | _: Or | _: Not              => true
    case _: EqualTo | _: EqualNullSafe | _: LessThan | _: LessThanOrEqual           => true
    case _: GreaterThan | _: GreaterThanOrEqual | _: In | _: InSet                  => true
    case _: Add | _: Subtract | _: Multiply | _: Divide | _: IntegralDivide         => true
    case _: Remainder | _: Pmod | _: UnaryMinus | _: Abs | _: Floor | _: Ceil       => true
    case _: Round | _: BitwiseAnd | _: BitwiseOr | _: BitwiseXor | _: ShiftLeft     => true
    case _: ShiftRight | _: ShiftRightUnsigned | _: UnscaledValue | _: MakeDecimal  => true
    case _: CheckOverflow | _: GetDateField | _: GetTimeField | _: DateAdd          => true
    case _: DateSub | _: DateDiff | _: LastDay | _: TruncDate | _: TruncTimestamp   => true
    case _: Substring | _: Upper | _: Lower | _: Concat | _: StringTrim             => true
    case _: StringTrimLeft | _: StringTrimRight | _: StringRPad | _: StringLPad     => true
    case _: Length | _: Murmur3Hash | _: XxHash64                                   => true
    case _: Collate | _: ResolvedCollation | _: CollationKey                        => true
    case _: KnownFloatingPointNormalized | _: KnownNotNull | _: NormalizeNaNAndZero => true
    // By a path that is parsed once. A variant is binary: to find a field of it is no parsing.
    case extraction: VariantGet => extraction.path.foldable
    case call: StaticInvoke     => call.staticObject == classOf[CharVarcharCodegenUtils]
    case _                      => false
  }
}
