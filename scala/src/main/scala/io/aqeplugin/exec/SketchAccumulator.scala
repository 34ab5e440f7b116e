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

  // On the driver: what has arrived; none after the summary was taken.
  @transient private lazy val lock = new Object
  @transient private var stage: Option[StageSketch] = None
  @transient private var isTaken = false

  /** What all tasks saw, if none is missing. Frees what was collected: a plan may live for long. */
  def take(): Option[KeySummary] = lock.synchronized {
    val found = stage.flatMap(_.summary)
    stage = None
    isTaken = true
    found
  }

  /** That of the tasks that have handed over their sketch. */
  def progress: Option[SketchProgress] = lock.synchronized(stage.flatMap(_.progress))

  private def absorb(found: SketchedPartition): Unit = lock.synchronized {
    if (!isTaken) {
      if (stage.isEmpty) stage = Some(new StageSketch(limits))
      stage.foreach(_.absorb(found.partition, found.partitions, KeySketch.fromBytes(found.bytes)))
    }
  }

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
      try one.ofTask.foreach(absorb)
      catch { case Survivable(error) => Faults.note("key sketch", "the keys of a build side are not known", error) }
    case _ =>
  }
}

/** The sketch of one of `partitions` partitions, as [[KeySketch.toBytes]] writes it. */
private[exec] final class SketchedPartition(val partition: Int, val partitions: Int, val bytes: Array[Byte]) extends Serializable {

  // Spark's events and logs may contain it.
  override def toString: String = s"sketch of partition $partition of $partitions, ${bytes.length} bytes"
}

private[exec] object SketchedPartition {
  val None: SketchedPartition = new SketchedPartition(-1, 0, Array.emptyByteArray)
}
