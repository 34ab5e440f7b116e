package org.apache.spark.sql.execution.aqeplugin

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.joins.{HashedRelation, HashedRelationWithAllNullKeys}

import io.aqeplugin.decide.{Reason, ReasonCode}

/** Reads the rows of a join's broadcast relation; the type of a hash join's is private to this package. */
object Relations {

  /** At least one build row of every non-null key, or the reason why the rows are not read.
    *
    * Looks up a row for each of the relation's keys. The keys alone are not enough: several integral keys are packed into one long, and a
    * single one is a boxed long whatever its type. Only one row per key is read, because a relation lists a key once for each of its rows.
    * The iterator reuses its row.
    */
  def rows(relation: Any): Either[Reason, Iterator[InternalRow]] = relation match {
    case HashedRelationWithAllNullKeys => Right(Iterator.empty)
    case relation: HashedRelation      =>
      val copy = relation.asReadOnlyCopy()
      Right(copy.keys().map(key => copy.getValue(key)).filter(_ != null))
    case _ => Left(Reason(ReasonCode.NoBuildExchange))
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
