package io.aqeplugin.tell

import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.SparkListenerEvent
import org.apache.spark.sql.aqeplugin.SparkBridge

/** A marker in Spark's event queue: when [[QueryEndListener]] reads it, all queries that ended before it was posted are recorded. */
final class EndsSeen private () extends SparkListenerEvent {
  private val seen = new CountDownLatch(1)

  // The marker does not belong in the event log.
  override def logEvent: Boolean = false

  private[tell] def reach(): Unit = seen.countDown()
}

object EndsSeen {

  /** Waits until the ends of all queries so far are recorded, and returns whether they are. If the queue drops events or has ended, the
    * wait ends at its time limit.
    */
  def await(sparkContext: SparkContext, timeoutMillis: Long): Boolean = {
    val mark = new EndsSeen
    SparkBridge.post(sparkContext, mark)
    mark.seen.await(timeoutMillis, TimeUnit.MILLISECONDS)
  }
}
