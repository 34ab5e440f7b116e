package io.aqeplugin.exec

import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan

import io.aqeplugin.decide.Reason

/** @param bytes
  *   of the whole files
  */
final case class DataFiles(count: Long, bytes: Long) {
  def +(other: DataFiles): DataFiles = DataFiles(count + other.count, bytes + other.bytes)
}

/** Files that were left out.
  *
  * @param listed
  *   the number of files that would have been read otherwise
  */
final case class UnreadFiles(files: DataFiles, listed: Long) {

  /** With those that the next step left out of what this one has left. */
  def +(next: UnreadFiles): UnreadFiles = copy(files = files + next.files)
}

/** The data files that keys left out of a scan, where its source tells. */
object LeftOut {

  /** Asked when the scan has run: what one filter left out, or why nothing; none if it is not known. */
  type Told = () => Option[Either[Reason, UnreadFiles]]

  /** What one step left out, asked of the scan when that has run; none if it is not known. */
  type Count = SparkPlan => Option[UnreadFiles]

  /** A task that gets the scan with its tags needs none. */
  private final case class Steps(@transient all: Vector[Count])

  private val tag = TreeNodeTag[Steps]("aqePlugin.leftOut")

  /** Of each step by which a scan reads less. */
  def of(scan: SparkPlan): Vector[Count] = scan.getTagValue(tag).fold(Vector.empty[Count])(_.all)

  /** `scan`, which reads less than `earlier` by one more step. */
  def counted[P <: SparkPlan](earlier: SparkPlan, scan: P, step: Option[Count] = None): P = {
    val steps = of(earlier) ++ step
    if (steps.nonEmpty) scan.setTagValue(tag, Steps(steps))
    scan
  }

  /** What the steps between two forms of a scan left out of the one that runs.
    *
    * @param why
    *   they left out nothing
    */
  def between(before: SparkPlan, after: SparkPlan, runs: SparkPlan, why: Option[Reason]): Told = {
    val steps = of(after).drop(of(before).size)
    () => steps.flatMap(_(runs)).reduceOption(_ + _).map(Right(_)).orElse(why.map(Left(_)))
  }
}
