package io.aqeplugin.observe

import java.util.concurrent.TimeUnit

import scala.collection.concurrent.TrieMap

import org.apache.spark.SparkContext

/** The states of the running executions. Thread-safe.
  *
  * A state is removed when its execution's end is announced. An announcement can be missing: a full listener queue drops events, and late
  * planning for an ended execution (for a subquery of a failed query, or on a thread that inherited the id) makes a new state. So each time
  * a state is made, the states of executions that ended a while ago are removed too.
  *
  * @param isRunning
  *   whether an execution is running
  * @param nanoTime
  *   the clock
  */
class QueryStates private[observe] (isRunning: Long => Boolean, nanoTime: () => Long) {
  import QueryStates.AnnouncementNanos

  private val states = TrieMap.empty[Long, QueryState]

  def of(executionId: Long): QueryState = states.getOrElse(
    executionId, {
      removeOrphans()
      states.getOrElseUpdate(executionId, new QueryState(executionId))
    }
  )

  def get(executionId: Long): Option[QueryState] = states.get(executionId)

  /** The state of the execution that the calling thread works for. */
  def current(sparkContext: SparkContext): Option[QueryState] =
    Executions.idOf(sparkContext).flatMap(get)

  def remove(executionId: Long): Option[QueryState] = states.remove(executionId)
  def size: Int = states.size

  /** Bytes of the broadcasts and filters that all executions hold by their decisions. */
  def heldBytes: Long = states.valuesIterator.map(_.heldBytes).sum

  private def removeOrphans(): Unit = {
    val nowNanos = nanoTime()
    states.foreach { case (id, state) =>
      // The announcement comes after the end itself and on another thread.
      if (!isRunning(id) && nowNanos - state.overSince(nowNanos) > AnnouncementNanos && states.remove(id, state)) { val _ = state.end() }
    }
  }
}

object QueryStates extends QueryStates(Executions.of(_).isDefined, () => System.nanoTime()) {

  /** How long after its end an execution may still be announced as ended. */
  private[observe] val AnnouncementNanos = TimeUnit.MINUTES.toNanos(1)
}
