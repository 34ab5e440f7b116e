package io.aqeplugin.e2e

import java.util.concurrent.atomic.LongAdder

import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.scalatest.{BeforeAndAfterAll, Suite}

/** What the tasks of a query read from storage, as Spark's own task metrics count it. */
final case class Read(bytes: Long, records: Long)

/** Counts what is really read, whatever a plan says. */
trait ReadMeter extends PluginSession with BeforeAndAfterAll { this: Suite =>
  private val bytes = new LongAdder
  private val records = new LongAdder

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.sparkContext.addSparkListener(new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit = Option(end.taskMetrics).foreach { metrics =>
        bytes.add(metrics.inputMetrics.bytesRead)
        records.add(metrics.inputMetrics.recordsRead)
      }
    })
  }

  protected def reading[A](body: => A): (A, Read) = {
    drain()
    val before = Read(bytes.sum, records.sum)
    val result = body
    drain()
    (result, Read(bytes.sum - before.bytes, records.sum - before.records))
  }
}
