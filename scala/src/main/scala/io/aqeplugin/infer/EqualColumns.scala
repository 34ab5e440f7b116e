package io.aqeplugin.infer

import org.apache.spark.sql.catalyst.expressions._

import io.aqeplugin.observe.KeyKind

/** Which columns have the same value, or both none, in every row that counts. */
private[infer] final class EqualColumns private (rootOf: Map[ExprId, ExprId], classes: Map[ExprId, Vector[Attribute]]) {

  /** The columns equal to `column`, itself included if it is known, in the order of their ids. */
  def of(column: Attribute): Seq[Attribute] = rootOf.get(column.exprId).fold(Seq.empty[Attribute])(classes)

  /** Every class of at least two columns. */
  def all: Iterable[Seq[Attribute]] = classes.values

  def areEqual(a: Attribute, b: Attribute): Boolean =
    a.exprId == b.exprId || rootOf.get(a.exprId).exists(rootOf.get(b.exprId).contains)

  def plus(conditions: Seq[Expression]): EqualColumns = conditions.foldLeft(this)((now, condition) => now.plus(condition))

  private def plus(condition: Expression): EqualColumns = condition match {
    case EqualColumns.Pair(a, b) => joined(a, b)
    case _                       => this
  }

  private def joined(a: Attribute, b: Attribute): EqualColumns =
    if (areEqual(a, b)) this
    else {
      val members = (membersOf(a) ++ membersOf(b)).sortBy(_.exprId.id)
      val root = members.head.exprId
      new EqualColumns(
        rootOf ++ members.map(_.exprId -> root),
        classes -- rootOf.get(a.exprId) -- rootOf.get(b.exprId) + (root -> members)
      )
    }

  private def membersOf(column: Attribute): Vector[Attribute] = rootOf.get(column.exprId).fold(Vector(column))(classes)
}

private[infer] object EqualColumns {
  val None: EqualColumns = new EqualColumns(Map.empty, Map.empty)

  /** Whether the condition makes two columns equal in every expression. */
  def isEquality(condition: Expression): Boolean = Pair.unapply(condition).isDefined

  private object Pair {
    def unapply(condition: Expression): Option[(Attribute, Attribute)] = condition match {
      case EqualTo(a: Attribute, b: Attribute) if areTheSameWhenEqual(a, b)       => Some((a, b))
      case EqualNullSafe(a: Attribute, b: Attribute) if areTheSameWhenEqual(a, b) => Some((a, b))
      case _                                                                      => Option.empty
    }
  }

  private def areTheSameWhenEqual(a: Attribute, b: Attribute): Boolean = a.dataType == b.dataType && KeyKind.areTheSameWhenEqual(a.dataType)
}
