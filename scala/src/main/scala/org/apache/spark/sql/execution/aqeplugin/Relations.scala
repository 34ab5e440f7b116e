package org.apache.spark.sql.execution.aqeplugin

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.joins.{HashedRelation, HashedRelationWithAllNullKeys}

import io.aqeplugin.decide.{Reason, ReasonCode}

/** Reads the rows of a hash join's broadcast relation. Lives here because the type of a relation is private to this package. */
object Relations {

  /** The build rows, nulls keys aside, or why they are not read.
    *
    * Goes by way of the relation's keys to its rows, and not by the keys alone: several integral keys are packed into one long, and a single
    * one is a boxed long whatever its type. The iterator reuses its row.
    *
    * @param maxBytes
    *   a larger relation is refused: the driver would hold it as an object only for this
    */
  def rows(relation: Any, maxBytes: Long): Either[Reason, Iterator[InternalRow]] = relation match {
    case HashedRelationWithAllNullKeys                                 => Right(Iterator.empty)
    case relation: HashedRelation if relation.estimatedSize > maxBytes =>
      Left(Reason(
        ReasonCode.FilterTooBig,
        Some(relation.estimatedSize.toDouble),
        Some(maxBytes.toDouble),
        "bytes",
        "spark.aqePlugin.filter.maxBytes"
      ))
    case relation: HashedRelation =>
      val copy = relation.asReadOnlyCopy()
      Right(copy.keys().flatMap(key => Option(copy.get(key)).getOrElse(Iterator.empty)))
    case _ => Left(Reason(ReasonCode.NoBuildExchange))
  }
}
