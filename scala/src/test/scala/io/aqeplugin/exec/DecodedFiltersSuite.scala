package io.aqeplugin.exec

import java.util.concurrent.{Callable, Executors, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.types.LongType
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.filters.{ExactSet, FilterFormat, KeyFilter}
import io.aqeplugin.metrics.Faults

class DecodedFiltersSuite extends AnyFunSuite {

  private def stored(codes: Long*): Array[Byte] = FilterFormat.write(ExactSet.of(codes.toArray).getOrElse(fail("no set")))

  test("concurrent tasks with the same array share one decoded filter") {
    val bytes = stored(3, 5)
    val threads = Executors.newFixedThreadPool(8)
    try {
      val task: Callable[Option[KeyFilter]] = () => DecodedFilters.of(bytes)
      val found = threads.invokeAll(Seq.fill(64)(task).asJava).asScala.map(_.get(10, TimeUnit.SECONDS).getOrElse(fail("no filter")))
      assert(found.forall(_ eq found.head))
      assert((0L to 9L).filter(found.head.mightContain) == Seq(3L, 5L))
    } finally {
      val _ = threads.shutdownNow()
    }
  }

  test("a different array is decoded separately, even with equal content") {
    val (a, b) = (stored(3, 5), stored(4))
    val filters = Seq(a, b, a.clone()).map(DecodedFilters.of(_).getOrElse(fail("no filter")))
    assert(filters.map(f => (0L to 9L).filter(f.mightContain)) == Seq(Seq(3L, 5L), Seq(4L), Seq(3L, 5L)))
    assert(!(filters.head eq filters.last))
  }

  test("invalid bytes are a fault and not an exception, for every task") {
    val broken = stored(3, 5)
    broken(20) = (broken(20) ^ 1).toByte
    val before = Faults.count
    val failures = ExecutorMetrics.decodeFailures.count
    assert(DecodedFilters.of(broken).isEmpty && DecodedFilters.of(broken).isEmpty)
    assert(Faults.count == before + 2)
    assert(ExecutorMetrics.decodeFailures.count == failures + 2)
  }

  test("an error while a filter is decoded leaves the task without it and is counted") {
    val metric = new SQLMetric("sum", 0L)
    val key = AttributeReference("k", LongType)()
    val factory = ProbeFactory(
      Seq(new Unreadable),
      KeyCoder(Seq(key), Seq(key)),
      SelfDisable(1000, 1.0, 1),
      FilterCounters(metric, metric, metric, faults = metric)
    )
    val before = Faults.count
    assert(factory.open().isEmpty && metric.value == 1)
    assert(Faults.count == before + 1 && ExecutorMetrics.errors.count == Faults.count)
  }

  /** Bytes that no decoder expects. */
  private final class Unreadable extends Broadcast[Array[Byte]](0L) {
    override protected def getValue(): Array[Byte] = null
    override protected def doUnpersist(blocking: Boolean): Unit = ()
    override protected def doDestroy(blocking: Boolean): Unit = ()
  }
}
