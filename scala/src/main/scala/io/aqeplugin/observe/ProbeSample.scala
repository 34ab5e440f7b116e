package io.aqeplugin.observe

import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, ExprId, Expression}
import org.apache.spark.unsafe.types.UTF8String

import io.aqeplugin.decide.{KeylessFiles, SampledKeys, Side}

/** Sampled rows of the scan that the keys of one join with one build side reach. */
trait ProbeSample {

  /** How many of the rows have one of the build side's keys; none while the rows are being read, and if they could not be.
    *
    * @param build
    *   the keys, asked for if there are rows
    */
  def matching(build: => Option[BuildKeys]): Option[SampledKeys]
}

/** Bounds of the key's column in some files of the scan that the only key of a join reaches. */
trait ProbeFiles {

  /** The files that hold none of the build side's keys.
    *
    * @param build
    *   the keys, asked for if there are bounds
    * @return
    *   none if no file is known to hold none, and while the bounds are being read
    */
  def without(build: => Option[BuildKeys]): Option[KeylessFiles]
}

/** What is known of the scan with these columns, which the keys of a join with this build side reach.
  *
  * @param rows
  *   none if it cannot be sampled
  * @param files
  *   none if its files have no bounds of the keys
  */
final case class TakenSample(buildSide: Side, columns: Seq[ExprId], rows: Option[ProbeSample], files: Option[ProbeFiles]) {
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

  /** Every key in ascending order, if its code is its value. */
  def values: Option[Array[Long]] = None

  /** Every key, if they are texts and few. */
  def texts: Option[Seq[UTF8String]] = None
}

object BuildKeys {

  /** @param codes
    *   of every key, in ascending order
    * @param areValues
    *   whether the codes of the keys are their values
    * @param allTexts
    *   the keys, if they are texts and few
    */
  def ofCodes(codes: Array[Long], areValues: Boolean, allTexts: Option[Seq[UTF8String]]): BuildKeys = new BuildKeys {
    override def have(keys: Seq[Expression], columns: Seq[Attribute]): Option[(InternalRow, Long) => Boolean] =
      Some((_, code) => Arrays.binarySearch(codes, code) >= 0)
    override def values: Option[Array[Long]] = Option.when(areValues)(codes)
    override def texts: Option[Seq[UTF8String]] = allTexts
  }
}
