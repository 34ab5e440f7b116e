package org.apache.spark.sql.execution.aqeplugin

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.joins.{HashedRelation, HashedRelationWithAllNullKeys}

import io.aqeplugin.decide.{Reason, ReasonCode}

/** Reads the rows of a hash join's broadcast relation. Lives here because the type of a relation is private to this package. */
object Relations {

  /** At least one build row of every key that is not null, or why they are not read.
    *
    * Goes by way of the relation's keys to a row of each, and not by the keys alone: several integral keys are packed into one long, and a single
    * one is a boxed long whatever its type. All rows of a key would be read once for each of them, since a relation names a key as often as it has
    * rows. The iterator reuses its row.
    */
  def rows(relation: Any): Either[Reason, Iterator[InternalRow]] = relation match {
    case HashedRelationWithAllNullKeys => Right(Iterator.empty)
    case relation: HashedRelation      =>
      val copy = relation.asReadOnlyCopy()
      Right(copy.keys().map(key => copy.getValue(key)).filter(_ != null))
    case _ => Left(Reason(ReasonCode.NoBuildExchange))
  }
}
