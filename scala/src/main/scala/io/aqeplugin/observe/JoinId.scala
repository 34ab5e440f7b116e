package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}

import io.aqeplugin.decide.JoinKind

/** Identifies a join of a query.
  *
  * @param columns
  *   the join's type and its key columns with their ids: different for every join of a query, and the same across its re-plans, which make
  *   new nodes but keep columns. Equal joins of a query and its subqueries have one name, see [[QueryPlans]]
  */
final case class JoinId(columns: String)(makeName: => String) {

  /** The same without the ids, such as `inner:ss_item_sk=i_item_sk`: the same in every session; equal for two joins of a query on columns of
    * equal names.
    */
  lazy val name: String = makeName
}

object JoinId {
  def of(kind: JoinKind, leftKeys: Seq[Expression], rightKeys: Seq[Expression]): JoinId = {
    def names = leftKeys.zip(rightKeys).map { case (left, right) => s"${nameOf(left)}=${nameOf(right)}" }
    named(kind, ordered(leftKeys, rightKeys).map(pairText), names)
  }

  private[observe] def named(kind: JoinKind, columns: Seq[String], names: => Seq[String]): JoinId =
    // Spark compares `a <=> b` by two keys of the same columns.
    JoinId(columns.mkString(s"${kind.name}:", ",", ""))(names.distinct.sorted.mkString(s"${kind.name}:", ",", ""))

  /** Key pairs in the order of their names. Spark reorders the keys of a join to fit the partitioning of its inputs. */
  def ordered(leftKeys: Seq[Expression], rightKeys: Seq[Expression]): Seq[(Expression, Expression)] =
    leftKeys.zip(rightKeys).sortBy(pairText)

  private def pairText(pair: (Expression, Expression)): String = s"${text(pair._1)}=${text(pair._2)}"

  /** The columns of a key with their ids. */
  private[aqeplugin] def text(key: Expression): String = textOf(key)(a => s"${a.name}#${a.exprId.id}")

  /** The columns of a key by name. Characters that names rarely have are replaced, because `spark.aqePlugin.force` gives them a meaning. */
  private[observe] def nameOf(key: Expression): String = textOf(key)(_.name.map(c => if (isPlain(c)) c else '_'))

  private def isPlain(c: Char): Boolean = c.isLetterOrDigit || c == '_' || c == '.' || c == '-' || c == '$'

  private def textOf(key: Expression)(column: Attribute => String): String = key match {
    // Nearly every key is an attribute, and computing an expression's references is costly.
    case a: Attribute => column(a)
    case other        =>
      val columns = other.references.toSeq.map(column)
      if (columns.size == 1) columns.head else columns.mkString("(", " ", ")")
  }
}
