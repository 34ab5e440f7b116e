package org.apache.spark.sql.execution.aqeplugin

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Cast, Expression, UnsafeProjection}
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, BroadcastExchangeLike}
import org.apache.spark.sql.execution.joins.{HashJoin, HashedRelation, HashedRelationBroadcastMode, HashedRelationWithAllNullKeys}
import org.apache.spark.sql.types.{DataType, IntegralType}

import io.aqeplugin.decide.{Reason, ReasonCode}
import io.aqeplugin.observe.Engines

/** Reads the rows of a join's broadcast relation; the type of a hash join's is private to this package. */
object Relations {

  /** The relation of a finished broadcast. Where tasks run elsewhere, the driver reads it back, unless it still has it. */
  def of(stage: BroadcastQueryStageExec): Any = {
    val value = stage.executeBroadcast[Any]().value
    // An engine carries rows in a form of its own.
    Engines.All.flatMap(_.rowsOf(value)).headOption.fold(value)(_.map(_.copy()).toArray[InternalRow])
  }

  /** At least one build row of every non-null key, or the reason why the rows are not read.
    *
    * Looks up a row for each of the relation's keys. The keys alone are not enough: several integral keys are packed into one long, and a
    * single one is a boxed long whatever its type. Only one row per key is read, because a relation lists a key once for each of its rows.
    * The iterator reuses its row.
    */
  def rows(relation: Any): Either[Reason, Iterator[InternalRow]] = relation match {
    case rows: Array[InternalRow]      => Right(rows.iterator)
    case HashedRelationWithAllNullKeys => Right(Iterator.empty)
    case relation: HashedRelation      =>
      val copy = relation.asReadOnlyCopy()
      Right(copy.keys().map(key => copy.getValue(key)).filter(_ != null))
    case _ => Left(Reason(ReasonCode.NoBuildExchange))
  }

  /** The number of keys, which is that of the rows with a key; none if two rows have equal keys, or the relation is not that of a hash join. */
  def uniqueKeys(relation: Any): Option[Long] = relation match {
    case HashedRelationWithAllNullKeys                    => None
    case relation: HashedRelation if relation.keyIsUnique => Some(relation.asReadOnlyCopy().keys().size.toLong)
    case _                                                => None
  }

  /** The keys of the relation that a broadcast makes, over its numbered columns; none if it makes no such relation. */
  def keysOf(broadcast: BroadcastExchangeLike): Option[Seq[Expression]] = broadcast match {
    case BroadcastExchangeExec(HashedRelationBroadcastMode(keys, _), _) => Some(keys)
    case _                                                              => None
  }

  /** Whether the relation of a broadcast is looked up by `keys`, over the columns of `output`. */
  def isLookedUpBy(broadcast: BroadcastExchangeLike, keys: Seq[Expression], output: Seq[Attribute]): Boolean = {
    val expected = bindReferences(HashJoin.rewriteKeyExpr(keys), output)
    keysOf(broadcast).exists(held =>
      held.size == expected.size && held.zip(expected).forall { case (one, other) => one.semanticEquals(other) }
    )
  }

  /** Tells whether rows find one in the relation.
    *
    * @param types
    *   those of the keys that the relation is looked up by
    * @param keys
    *   over the columns of the rows
    * @return
    *   none if a key has values that are none of its key of the relation
    */
  def lookup(
      relation: Any,
      types: Seq[DataType],
      keys: Seq[Expression],
      columns: Seq[Attribute]
  ): Option[(InternalRow, Long) => Boolean] = relation match {
    case HashedRelationWithAllNullKeys => Some((_, _) => false)
    case relation: HashedRelation      =>
      asLookedUp(keys, types).map { found =>
        val copy = relation.asReadOnlyCopy()
        val key = UnsafeProjection.create(HashJoin.rewriteKeyExpr(found), columns)
        (row, _) => copy.get(key(row)) != null
      }
    case _ => None
  }

  /** The keys of the types by which they lie in a row of several, or side by side in a number. A single integer is a long, whatever its type. */
  private def asLookedUp(keys: Seq[Expression], types: Seq[DataType]): Option[Seq[Expression]] =
    if ((keys.map(_.dataType) ++ types).forall(_.isInstanceOf[IntegralType]) && keys.size == 1) Some(keys)
    else
      Option.when(keys.zip(types).forall { case (key, to) => Cast.canUpCast(key.dataType, to) }) {
        keys.zip(types).map { case (key, to) => if (key.dataType == to) key else Cast(key, to) }
      }

  /** Every build row, except those with a null key; or the reason why the rows are not read. The iterator reuses its row. */
  def everyRow(relation: Any): Either[Reason, Iterator[InternalRow]] = relation match {
    case rows: Array[_]                => Right(rows.iterator.map(_.asInstanceOf[InternalRow]))
    case HashedRelationWithAllNullKeys => Right(Iterator.empty)
    case relation: HashedRelation      =>
      val copy = relation.asReadOnlyCopy()
      if (copy.keyIsUnique) rows(relation)
      else {
        val seen = mutable.HashSet.empty[InternalRow]
        Right(copy.keys().filter(key => seen.add(key.copy())).flatMap(key => Option(copy.get(key)).getOrElse(Iterator.empty)))
      }
    case _ => Left(Reason(ReasonCode.NoBuildExchange))
  }
}
