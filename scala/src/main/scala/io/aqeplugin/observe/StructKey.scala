package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.types.{DataType, StructType}

/** A join key that is a struct. */
private[observe] object StructKey {

  /** More fields are not compared, because each has a cost for every row. */
  private val MostFields = 8

  /** For each field that a filter can hold, of each struct inside too: the two expressions that are equal wherever the two structs are. None if
    * one key is no struct column.
    *
    * Where two structs are equal, a field is null in both or in neither, and a filter holds no null, so a value stands for it. It also stands for the
    * field of a struct that is null, whose row has no partner: such a row may pass.
    */
  def fields(build: Expression, probe: Expression): Option[Seq[(Expression, Expression)]] = for {
    ofBuild <- column(build)
    ofProbe <- column(probe)
  } yield below(ofBuild, ofProbe).take(MostFields)

  private def below(build: Expression, probe: Expression): Seq[(Expression, Expression)] = (build.dataType, probe.dataType) match {
    case (one: StructType, other: StructType) if one.size == other.size =>
      one.indices.flatMap(i => below(GetStructField(build, i), GetStructField(probe, i)))
    case (one, other) if KeyKind.of(one).isRight && KeyKind.of(other).isRight => Seq((notNull(build, one), notNull(probe, other)))
    case _                                                                    => Nil
  }

  private def notNull(field: Expression, dataType: DataType): Expression = Coalesce(Seq(field, Literal.default(dataType)))

  /** Spark makes the floating-point numbers in a struct alike, as codes do. */
  private def column(key: Expression): Option[Attribute] = key match {
    case column: Attribute if column.dataType.isInstanceOf[StructType] => Some(column)
    case KnownFloatingPointNormalized(If(IsNull(column: Attribute), _, _)) if DataTypeUtils.sameType(column.dataType, key.dataType) =>
      Some(column)
    case _ => None
  }
}
