package io.aqeplugin.exec

import org.apache.spark.util.AccumulatorV2

import io.aqeplugin.metrics.{Faults, Survivable}
import io.aqeplugin.sketch._

/** Brings the sketch of each task to the driver, with the task's result and without a job, and merges them there.
  *
  * Spark hands over the updates of a stage's last task before it calls the stage finished, and updates of successful tasks only.
  *
  * @param limits
  *   for the stage as a whole
  */
private[exec] final class SketchAccumulator(limits: SketchLimits) extends AccumulatorV2[SketchedPartition, SketchedPartition] {

  // One partition, in a task; on the driver, none.
  private var ofTask: Option[SketchedPartition] = None

  @transient private lazy val stage = new StageSketch(limits)

  /** What the tasks of all `partitions` saw; none while one is missing. */
  def summary(partitions: Int): Option[KeySummary] = stage.synchronized(stage.summary(partitions))

  override def isZero: Boolean = ofTask.isEmpty
  override def copy(): SketchAccumulator = {
    val copied = new SketchAccumulator(limits)
    copied.ofTask = ofTask
    copied
  }
  override def reset(): Unit = ofTask = None
  override def add(partition: SketchedPartition): Unit = ofTask = Some(partition)
  override def value: SketchedPartition = ofTask.getOrElse(SketchedPartition.None)

  /** Runs in the thread that schedules all jobs, once per task. A partition that cannot be read stays missing. */
  override def merge(other: AccumulatorV2[SketchedPartition, SketchedPartition]): Unit = other match {
    case one: SketchAccumulator =>
      try one.ofTask.foreach(found => stage.synchronized(stage.absorb(found.partition, KeySketch.fromBytes(found.bytes))))
      catch { case Survivable(error) => Faults.note("key sketch", "the keys of a build side are not known", error) }
    case _ =>
  }
}

/** The sketch of one partition, as [[KeySketch.toBytes]] writes it. */
private[exec] final class SketchedPartition(val partition: Int, val bytes: Array[Byte]) extends Serializable {

  // Spark's events and logs may contain it.
  override def toString: String = s"sketch of partition $partition, ${bytes.length} bytes"
}

private[exec] object SketchedPartition {
  val None: SketchedPartition = new SketchedPartition(-1, Array.emptyByteArray)
}
