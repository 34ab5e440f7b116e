package io.aqeplugin.observe

import java.util.concurrent.TimeUnit

import scala.collection.concurrent.TrieMap

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.SQLExecution

/** The states of the executions that run now. Thread-safe.
  *
  * A state goes when the end of its execution is announced. Not every end is: a full listener queue drops events, and what still plans for an execution
  * after its end, a subquery of a query that failed or a thread that inherited its id, makes a new state. So whenever a state is made, those whose
  * execution has been over for a while go too.
  *
  * @param isRunning
  *   whether an execution runs
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
    Option(sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)).flatMap(_.toLongOption).flatMap(get)

  def remove(executionId: Long): Option[QueryState] = states.remove(executionId)
  def size: Int = states.size

  private def removeOrphans(): Unit = {
    val nowNanos = nanoTime()
    states.foreach { case (id, state) =>
      // The announcement comes after the end itself, and on another thread.
      if (!isRunning(id) && nowNanos - state.overSince(nowNanos) > AnnouncementNanos) { val _ = states.remove(id, state) }
    }
  }
}

object QueryStates extends QueryStates(id => Option(SQLExecution.getQueryExecution(id)).isDefined, () => System.nanoTime()) {

  /** How long after its end an execution may still be announced as ended. */
  private[observe] val AnnouncementNanos = TimeUnit.MINUTES.toNanos(1)
}
