package io.aqeplugin.observe

import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, ExprId, Expression}

import io.aqeplugin.decide.{SampledKeys, Side}

/** Sampled rows of the scan that the keys of one join with one build side reach. */
trait ProbeSample {

  /** How many of the rows have one of the build side's keys; none while the rows are being read, and if they could not be.
    *
    * @param build
    *   the keys, asked for if there are rows
    */
  def matching(build: => Option[BuildKeys]): Option[SampledKeys]
}

/** A sample of the scan with these columns, which the keys of a join with this build side reach; none if it cannot be sampled. */
final case class TakenSample(buildSide: Side, columns: Seq[ExprId], sample: Option[ProbeSample]) {
  def isOf(side: Side, scan: Seq[ExprId]): Boolean = buildSide == side && columns == scan
}

/** The keys of a finished build side, each of which is known. */
trait BuildKeys {

  /** Tells whether rows have one of them.
    *
    * @param keys
    *   the keys of the rows, in the order of the join's keys
    * @param columns
    *   those of the rows
    * @return
    *   takes a row without a null in its key, and the code of the key; for one thread. None if the keys cannot be compared
    */
  def have(keys: Seq[Expression], columns: Seq[Attribute]): Option[(InternalRow, Long) => Boolean]
}

object BuildKeys {

  /** @param codes
    *   of every key, in ascending order
    */
  def ofCodes(codes: Array[Long]): BuildKeys = (_, _) => Some((_, code) => Arrays.binarySearch(codes, code) >= 0)
}
