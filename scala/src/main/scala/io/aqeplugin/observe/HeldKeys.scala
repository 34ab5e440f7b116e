package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.expressions.{Cast, EvalMode, Expression, IsNull, Literal}
import org.apache.spark.sql.catalyst.expressions.variant.VariantGet
import org.apache.spark.sql.types.VariantType

import io.aqeplugin.decide.{Reason, ReasonCode}

/** The keys of a join by which a filter is made. A row without a partner by some of its keys has none by all of them.
  *
  * @param build
  *   over the build side, each a [[JoinKey]]
  * @param probe
  *   their partners
  * @param leftOut
  *   the probe side's other keys
  */
final case class HeldKeys(build: Seq[Expression], probe: Seq[Expression], leftOut: Seq[Expression])

object HeldKeys {

  /** The keys that a filter can hold, or why there is none. What is computed of a build row must have a value for every row: a row of the
    * build side's exchange may be dropped before the join computes its key.
    *
    * @param pairs
    *   at least one key of the build side, and the key of the probe side that the join compares it with
    */
  def of(pairs: Seq[(Expression, Expression)]): Either[Reason, HeldKeys] = {
    val fields = pairs.map(pair => pair -> StructKey.fields(pair._1, pair._2).filter(_.nonEmpty))
    val each = fields.flatMap { case (pair, inside) => inside.getOrElse(Seq(pair)).map(one => one -> held(one)) }
    val possible = each.collect { case (pair, Right(keys)) => pair -> keys }
    // Spark compares `a <=> b` by the values, with one in place of null, and by whether they are null. The values say enough.
    val saying = possible.filterNot(_._1._1.isInstanceOf[IsNull])
    val chosen = if (saying.isEmpty) possible else saying
    if (chosen.isEmpty) Left(each.collectFirst { case (_, Left(reason)) => reason }.getOrElse(NotPlain))
    else
      Right(HeldKeys(
        chosen.map(_._2._1.expression),
        chosen.map(_._2._2.expression),
        pairs.filterNot(pair => chosen.exists(_._1 eq pair)).map(_._2)
      ))
  }

  private def held(pair: (Expression, Expression)): Either[Reason, (JoinKey, JoinKey)] = for {
    build <- JoinKey.of(nullOnError(pair._1))
    probe <- JoinKey.of(pair._2)
    _ <- Either.cond(build.kind == probe.kind && hasValues(build), (), NotPlain)
  } yield (build, probe)

  /** Whether a build side's key has a value for every row, as far as its variants are not damaged. */
  def hasValues(key: JoinKey): Boolean = !key.isComputed || Total(key.expression.transformUp {
    case extraction: VariantGet if !extraction.failOnError && Total(extraction.child) => Literal.create(null, extraction.dataType)
    case cast: Cast if isTried(cast) && Total(cast.child)                             => Literal.create(null, cast.dataType)
  })

  /** A row whose variant has no such value fails the query or is dropped before the join. So it needs no partner. */
  private def nullOnError(key: Expression): Expression = key.transformUp {
    case extraction: VariantGet                           => extraction.copy(failOnError = false)
    case cast: Cast if cast.child.dataType == VariantType => cast.copy(evalMode = EvalMode.TRY)
  }

  private def isTried(cast: Cast): Boolean = cast.child.dataType == VariantType && cast.evalMode == EvalMode.TRY

  private val NotPlain = Reason(ReasonCode.KeyNotPlain)
}
