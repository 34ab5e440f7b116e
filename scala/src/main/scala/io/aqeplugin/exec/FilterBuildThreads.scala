package io.aqeplugin.exec

import java.util.concurrent.{ExecutorService, Executors, ScheduledFuture, ScheduledThreadPoolExecutor, ThreadFactory, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

/** The driver's threads that wait for filter jobs. Daemon threads: they never keep a driver alive. */
object FilterBuildThreads {

  /** What a reader of a filter waits beyond the build's own time limit before it goes on without. */
  val GraceMillis = 1000L

  val pool: ExecutorService = Executors.newCachedThreadPool(daemons("aqe-plugin-filter-build"))

  private val timer = {
    val timer = new ScheduledThreadPoolExecutor(1, daemons("aqe-plugin-filter-timeout"))
    timer.setRemoveOnCancelPolicy(true)
    timer
  }

  def afterMillis(delayMillis: Long)(body: => Unit): ScheduledFuture[_] =
    timer.schedule((() => body): Runnable, delayMillis, TimeUnit.MILLISECONDS)

  private def daemons(name: String): ThreadFactory = {
    val count = new AtomicInteger()
    runnable => {
      val thread = new Thread(runnable, s"$name-${count.incrementAndGet()}")
      thread.setDaemon(true)
      thread
    }
  }
}
