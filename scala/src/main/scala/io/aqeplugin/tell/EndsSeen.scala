package io.aqeplugin.tell

import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.SparkListenerEvent
import org.apache.spark.sql.aqeplugin.SparkBridge

/** A mark among Spark's events: when [[QueryEndListener]] comes to it, all queries that ended before it was posted are written down. */
final class EndsSeen private () extends SparkListenerEvent {
  private val seen = new CountDownLatch(1)

  // It says nothing of the application.
  override def logEvent: Boolean = false

  private[tell] def reach(): Unit = seen.countDown()
}

object EndsSeen {

  /** Waits until the ends of all queries so far are written down; whether they are. A queue that drops events, or ended, does not keep it longer. */
  def await(sparkContext: SparkContext, timeoutMillis: Long): Boolean = {
    val mark = new EndsSeen
    SparkBridge.post(sparkContext, mark)
    mark.seen.await(timeoutMillis, TimeUnit.MILLISECONDS)
  }
}
