package io.aqeplugin.exec

import java.net.{URL, URLClassLoader}
import java.util.concurrent.{Callable, CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

class DaemonThreadsSuite extends AnyFunSuite with Eventually {

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(timeout = Span(20, Seconds), interval = Span(20, Millis))

  test("a thread inherits neither thread-locals nor class loader from its first query") {
    val session = new InheritableThreadLocal[String]
    val own = Thread.currentThread().getContextClassLoader
    val ofTheQuery = new URLClassLoader(Array.empty[URL], own)
    val pool = DaemonThreads.pool("aqe-plugin-test", 1)
    try {
      session.set("of the first query")
      Thread.currentThread().setContextClassLoader(ofTheQuery)
      val seen: Callable[(Option[String], ClassLoader)] = () => (Option(session.get), Thread.currentThread().getContextClassLoader)
      val (inherited, loader) = pool.submit(seen).get(10, TimeUnit.SECONDS)
      assert(inherited.isEmpty)
      assert(loader eq DaemonThreads.getClass.getClassLoader)
    } finally {
      Thread.currentThread().setContextClassLoader(own)
      session.remove()
      ofTheQuery.close()
      val _ = pool.shutdownNow()
    }
  }

  test("filter builds beyond the number of threads wait and then run") {
    val builds = FilterBuildThreads.MaxBuilds + 40
    val release = new CountDownLatch(1)
    val started = new AtomicInteger()
    val ended = new CountDownLatch(builds)
    try {
      (1 to builds).foreach { _ =>
        FilterBuildThreads.pool.execute { () =>
          started.incrementAndGet()
          release.await()
          ended.countDown()
        }
      }
      eventually(assert(started.get == FilterBuildThreads.MaxBuilds))
      Thread.sleep(100)
      assert(started.get == FilterBuildThreads.MaxBuilds)
    } finally release.countDown()
    assert(ended.await(20, TimeUnit.SECONDS))
  }

  test("a wait is checked in time while a filter that took too long is still being given up") {
    val (giveUp, checked) = (new CountDownLatch(1), new CountDownLatch(1))
    try {
      val _ = FilterBuildThreads.timer.afterMillis(0L)(giveUp.await())
      val _ = WaitClockExec.timer.afterMillis(1L)(checked.countDown())
      assert(checked.await(20, TimeUnit.SECONDS))
    } finally giveUp.countDown()
  }
}
