package io.aqeplugin.observe

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.expressions.variant.VariantGet
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.catalyst.util.CharVarcharCodegenUtils
import org.apache.spark.sql.execution.datasources.VariantMetadata
import org.apache.spark.sql.types.VariantType

import io.aqeplugin.decide.Reason

/** One side of an equality of a join, of whose values a filter can hold codes.
  *
  * @param expression
  *   the column, where the key is one below lossless casts; else what the join computes from it
  * @param column
  *   the only column that the key reads
  * @param kind
  *   of the key's values. Two keys of one kind have equal codes for values that the join considers equal
  */
final case class JoinKey(expression: Expression, column: Attribute, kind: KeyKind) {
  def isComputed: Boolean = !expression.isInstanceOf[Attribute]

  /** Whether the key of a row without a value in the column is null, as that of a row that an outer join extended with nulls must be where
    * filters shall not change it.
    */
  lazy val isNullOfNull: Boolean = !isComputed || JoinKey.isNullOfNull(expression)
}

object JoinKey {

  /** More nodes are not computed for every row of a scan. A projection below another may use a column many times. */
  private val MaxNodes = 48

  /** The key as a column or as a deterministic, cheap expression of Spark's of one column, or why a filter cannot hold it. */
  def of(key: Expression): Either[Reason, JoinKey] = PlainKey.of(key) match {
    case Right(plain)  => Right(JoinKey(plain.attribute, plain.attribute, plain.kind))
    case Left(refusal) =>
      for {
        kind <- PlainKey.kindOf(key)
        column <- if (isComputable(key)) key.references.headOption.toRight(refusal) else Left(refusal)
      } yield JoinKey(key, column, kind)
  }

  /** All keys of one side, or the first rejection. */
  def all(keys: Seq[Expression]): Either[Reason, Seq[JoinKey]] =
    keys.foldLeft[Either[Reason, Seq[JoinKey]]](Right(Nil))((found, key) => found.flatMap(known => of(key).map(known :+ _)))

  /** The column that a key reads, of a key that is a [[JoinKey]]. */
  def columnOf(key: Expression): Attribute = key match {
    case column: Attribute => column
    case computed          => computed.references.head
  }

  /** A key as it is named in decisions: its column, or the expression as SQL, without what Spark puts around columns by itself. */
  def nameOf(key: Expression): String = key.transformUp {
    case column: AttributeReference => column.withQualifier(Nil)
    case CollationKey(of)           => of
    // What a scan extracts from a variant, or the variant as a whole, which a scan may give beside it.
    case field @ GetStructField(of, _, _) if VariantMetadata.isVariantStruct(of.dataType) => extraction(of, field)
    case KnownFloatingPointNormalized(NormalizeNaNAndZero(of))                            => of
    case pad: StaticInvoke if pad.staticObject == classOf[CharVarcharCodegenUtils]        => pad.arguments.head
  } match {
    case column: Attribute => column.name
    case computed          => computed.sql
  }

  private def extraction(of: Expression, field: GetStructField): Expression = {
    val how = VariantMetadata.fromMetadata(field.childSchema(field.ordinal).metadata)
    if (field.dataType == VariantType) of else VariantGet(of, Literal(how.path), field.dataType, how.failOnError)
  }

  /** Keys with the numbers of their columns in `output` in place of ids: equal for equal keys of equal plans. */
  def numbered(keys: Seq[Expression], output: Seq[Attribute]): Seq[Expression] = keys.map(_.transform { case column: Attribute =>
    BoundReference(output.indexWhere(_.exprId == column.exprId), column.dataType, nullable = true)
  })

  private def isComputable(key: Expression): Boolean =
    key.deterministic && key.references.size == 1 && KnownExpressions.areCheap(key) && key.collect { case node => node }.size <= MaxNodes

  /** Whether the key of a row whose column is null is null. */
  def isNullOfNull(key: Expression): Boolean =
    Try(key.transform { case column: Attribute => Literal.create(null, column.dataType) }.eval()).toOption.contains(null)
}
