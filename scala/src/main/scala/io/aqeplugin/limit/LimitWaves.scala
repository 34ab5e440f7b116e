package io.aqeplugin.limit

import java.util.concurrent.LinkedBlockingQueue

import scala.collection.mutable
import scala.concurrent.ExecutionContext
import scala.util.{Failure, Try}

import org.apache.spark.SimpleFutureAction
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow

/** Reads splits until they have given enough rows, then cancels the others.
  *
  * Several jobs run at once, each with a few splits. They are submitted by the calling thread and so belong to its query, job group and
  * tags. A split that fails fails the call, and every job has been told to end when the call returns.
  *
  * @param order
  *   the splits, those to read first at the front
  * @param rowsWanted
  *   rows that are enough
  * @param pace
  *   how many splits run at once
  * @param slots
  *   tasks that can run at once
  */
private[limit] final class LimitWaves(
    rdd: RDD[InternalRow],
    order: IndexedSeq[Int],
    rowsWanted: Int,
    pace: WavePace,
    slots: Int
) {
  import LimitWaves.{Ended, Finished, Message}

  private val messages = new LinkedBlockingQueue[Message]()
  private val jobs = mutable.LinkedHashMap.empty[Int, SimpleFutureAction[Unit]]
  private val results = mutable.HashMap.empty[Int, Array[Byte]]

  // Changed only by the calling thread.
  private var started = 0
  private var finished = 0
  private var rowsFound = 0L

  /** Number of splits that were started. */
  def splitsStarted: Int = started

  def splitsFinished: Int = finished

  def jobsStarted: Int = jobs.size

  /** The encoded rows of the finished tasks, in the order in which they were started. */
  def run(): Seq[Array[Byte]] =
    try {
      startMore()
      while (rowsFound < rowsWanted && finished < order.size) {
        messages.take() match {
          case Finished(place, splits, rows) =>
            results.put(place, rows)
            finished += splits
            rowsFound += EncodedRows.count(rows)
          case Ended(Failure(error)) => throw error
          case Ended(_)              =>
        }
        startMore()
      }
      results.toSeq.sortBy(_._1).map(_._2)
    } finally jobs.values.filterNot(_.isCompleted).foreach(_.cancel())

  private def startMore(): Unit = {
    val waiting = order.size - started
    val count = pace.start(rowsWanted - rowsFound, rowsFound, finished, started - finished, waiting)
    if (count > 0) submit(started, count)
  }

  private def submit(from: Int, count: Int): Unit = {
    val limit = rowsWanted // not the whole object goes to the executors
    val queue = messages
    val tasks = SplitTasks.of(rdd, order.slice(from, from + count), slots)
    val job = rdd.sparkContext.submitJob[InternalRow, Array[Byte], Unit](
      tasks.rdd,
      (rows: Iterator[InternalRow]) => EncodedRows.encode(rows, limit),
      tasks.partitions,
      (i: Int, rows: Array[Byte]) => queue.put(Finished(from + i, tasks.splits(i), rows)),
      ()
    )
    started += count
    jobs.put(from, job)
    job.onComplete((end: Try[Unit]) => queue.put(Ended(end)))(ExecutionContext.parasitic)
  }
}

private object LimitWaves {
  sealed trait Message

  /** The rows of a task with so many splits. */
  final case class Finished(place: Int, splits: Int, rows: Array[Byte]) extends Message
  final case class Ended(end: Try[Unit]) extends Message
}
